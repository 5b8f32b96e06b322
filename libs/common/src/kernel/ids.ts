import { typeidUnboxed } from 'typeid-js'
import type { IdPrefix } from '../contract/common.schema.js'

/** A new identifier: a TypeID, whose suffix is a UUID of version 7, so that ids sort by the time they were made. */
export const newId = (prefix: IdPrefix): string => typeidUnboxed(prefix)
