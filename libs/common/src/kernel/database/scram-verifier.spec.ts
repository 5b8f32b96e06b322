import { expect, it } from '@jest/globals'
import { scramVerifier } from './scram-verifier.js'

// password and salt of the example in RFC 7677
it('is what Postgres itself keeps of the password', async () => {
  expect(await scramVerifier('pencil', Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64'))).toBe(
    'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
  )
})

it('has another salt each time', async () => {
  expect(await scramVerifier('pencil')).not.toBe(await scramVerifier('pencil'))
})
