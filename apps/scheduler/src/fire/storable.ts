/**
 * What a program or a host said, as a line can keep it: no database takes U+0000, nor half of a character, which is what is
 * left of one where a text was cut.
 */
export const storable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()
