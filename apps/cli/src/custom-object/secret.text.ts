/** What a new publish token is, in words; it is in the first answer alone. */
export const tokenLines = (name: string, token: string | null): string[] =>
  token === null
    ? [`Its publish token was in an answer that was lost: svc custom-object rotate ${name} gives it a new one.`]
    : [
        'Its publish token, which publishes its events and does nothing else, is shown this once:',
        `  ${token}`,
        `A program that holds it in SVC_TOKEN publishes with: svc custom-object publish ${name} <event>`,
      ]

/**
 * What a new signing secret is, in words; it is in the first answer alone.
 *
 * @param overlap for so long its consumer may go on with the one before, which another rotation is not to end
 */
export const secretLines = (name: string, secret: string | null, overlap?: string): string[] =>
  secret === null
    ? [
        `Its signing secret was in an answer that was lost: svc custom-object rotate ${name} --signing-secret${
          overlap === undefined ? '' : ` --overlap ${overlap}`
        } gives it a new one.`,
      ]
    : ['The secret that its deliveries are signed with (Standard Webhooks) is shown this once:', `  ${secret}`]
