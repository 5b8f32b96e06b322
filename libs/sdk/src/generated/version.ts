// Made from the contract by `npm run gen`. Do not edit.

export const version = '0.1.0'
