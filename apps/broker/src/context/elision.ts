/** Characters of an old output that stay when it is left out. */
const keptCharacters = 400
const worthIt = 1200

export const isLong = (output: string): boolean => output.length > worthIt

/** The beginning of an old output of a tool, with what is missing said. */
export const elided = (output: string): string =>
  isLong(output)
    ? `${output.slice(0, keptCharacters)}\n[… ${output.length - keptCharacters} more characters stood here. They were left out to make room: make the call again if you need them …]`
    : output
