export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What the client must know of a route to call it. */
export interface Route {
  readonly method: Method
  /** With `{name}` for each path parameter. */
  readonly path: string
  /** Path parameters that are identifiers, with the pattern that each must fit before a request is made. */
  readonly checked?: Readonly<Record<string, RegExp>>
}

/**
 * The path with its parameters filled in.
 *
 * @throws TypeError when an identifier doesn't fit its pattern
 */
export const pathOf = (route: Route, params: Readonly<Record<string, string>> = {}): string =>
  route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value: unknown = params[name]
    const pattern = route.checked?.[name]
    if (typeof value !== 'string' || value === '' || (pattern && !pattern.test(value))) {
      throw new TypeError(
        `${name} of ${route.method} ${route.path} is not a valid identifier: ${JSON.stringify(value)}`,
      )
    }
    return encodeURIComponent(value)
  })

export type QueryValue = string | number | boolean | null | undefined | readonly (string | number | boolean)[]

/** `?a=1&b=2`; absent values are left out, lists repeat their name. */
export const queryString = (query: object = {}): string => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query) as [string, QueryValue][]) {
    if (value === undefined || value === null) continue
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one))
  }
  const text = search.toString()
  return text && `?${text}`
}
