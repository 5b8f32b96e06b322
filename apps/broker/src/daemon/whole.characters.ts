/**
 * A JSON text with the replacement character for each half of a surrogate pair. A model or a program may say one, and a
 * text that is cut may end in one; the daemon takes none, and a node must not end of it.
 */
export const wholeCharacters = (text: string): string =>
  text.includes('\\u') && /\\u[dD][89a-fA-F]/.test(text)
    ? text.replace(
        /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)/gs,
        (found, half?: string) => (half ? '\\ufffd' : found),
      )
    : text
