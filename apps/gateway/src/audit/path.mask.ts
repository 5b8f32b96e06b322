/** Characters of one segment, and of a whole path, that the log keeps. */
const longestSegment = 128
const longestPath = 512

/** Our own tokens, keys as providers write them, and runs of characters that are longer than any identifier of ours. */
const secrets =
  /svc_(?:own|app|run|node|pub|rt)_\w{8,}|whsec_[\w+=-]{8,}|(?<![a-z0-9])(?:sk|pk|ghp|gho|xox[a-z])[-_][\w-]{16,}|[\w+/=~-]{40,}/gi
/** A path may be encoded over and over. */
const layers = 4

const decoded = (text: string): string => {
  let shown = text
  for (let layer = 0; layer < layers && shown.includes('%'); layer += 1) {
    shown = shown.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
      Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'),
    )
  }
  return shown
}

/** Text without what looks like a secret. */
export const withoutSecrets = (text: string): string => text.replace(secrets, '[secret]')

const segmentOf = (segment: string): string => {
  const plain = decoded(segment)
  const masked = withoutSecrets(plain)
  // as it came, unless something in it must not be shown
  const shown = masked === plain ? segment : masked
  const printable = shown.replace(/[^\x20-\x7e]/g, '?')
  return printable.length > longestSegment ? `${printable.slice(0, longestSegment)}…` : printable
}

/** The path of a request as the log keeps it: without its query, bounded, and without what looks like a token. */
export const maskedPath = (url: string): string => {
  const path = (url.split(/[?#]/, 1)[0] as string)
    .slice(0, 16 * 1024)
    .split('/')
    .map(segmentOf)
    .join('/')
  return path.length > longestPath ? `${path.slice(0, longestPath)}…` : path
}
