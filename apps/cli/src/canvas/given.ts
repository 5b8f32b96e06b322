/** Those of a command's options that were given, out of these: the rest of them is the command's own. */
export const given = <T extends object, Name extends keyof T>(
  options: T,
  ...names: readonly Name[]
): Partial<Pick<T, Name>> =>
  Object.fromEntries(
    names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  ) as Partial<Pick<T, Name>>
