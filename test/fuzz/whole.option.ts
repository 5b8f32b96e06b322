/** @throws Error that names the option */
export const whole = (text: string, name: string): number => {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 1) return number
  throw new Error(`--${name} is a whole number from 1 up`)
}
