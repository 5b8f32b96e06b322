const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** `512 B`, `1.5 MiB`: a size with at most one digit behind the point. */
export const sizeText = (bytes: number): string => {
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const count = bytes / 1024 ** step
  return `${step === 0 || count >= 100 ? Math.round(count) : Math.round(count * 10) / 10} ${units[step]}`
}
