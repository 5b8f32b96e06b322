const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
const invisible = /\p{M}|\p{Cf}/u
const plain = /^[\x20-\x7e]*$/

const columnsOf = (character: string): number => (invisible.test(character) ? 0 : wide.test(character) ? 2 : 1)

/** Columns that a text takes on a terminal. */
export const widthOf = (text: string): number =>
  plain.test(text) ? text.length : [...text].reduce((width, character) => width + columnsOf(character), 0)

/** The text with spaces up to this many columns. */
export const padded = (text: string, columns: number): string => text + ' '.repeat(Math.max(0, columns - widthOf(text)))

/** At most this many columns of the text; what is cut ends in an ellipsis. */
export const cut = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text
  let shown = ''
  let width = 0
  for (const character of text) {
    width += columnsOf(character)
    if (width > columns - 1) break
    shown += character
  }
  return `${shown}…`
}
