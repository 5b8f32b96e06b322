/** The lines that connect programs of a shell: they are evaluated, so that each value must stay one word. */
export const exportLines = (baseUrl: string, token: string): string =>
  `export SVC_BASE_URL=${shellWord(baseUrl)}\nexport SVC_TOKEN=${shellWord(token)}`

const shellWord = (text: string): string =>
  /^[\w:./@%+=,[\]-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
