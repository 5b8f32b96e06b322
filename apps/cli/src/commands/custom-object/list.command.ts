import type { Command } from 'commander'
import type { CustomObjectsListQuery } from '#sdk/index.js'
import { given } from '../../canvas/given.js'
import { objectTable } from '../../custom-object/object.view.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { type PagedOptions, printPaged } from '../../output/paged.js'
import type { Shell } from '../../shell.js'

interface ListOptions extends PagedOptions {
  readonly app?: string
}

export const registerList = (object: Command, shell: Shell): void => {
  const made = command(object, 'list', { calls: ['customObjects.list'], summary: 'List objects, newest first' })
    .option('--app <id>', 'of this application')
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'entries a page, 1 to 200', wholeNumber)
    .option('--all', 'every page')
  performs<ListOptions>(made, shell, async (call) => {
    const { app } = call.options
    const query: CustomObjectsListQuery = {
      ...given(call.options, 'after', 'limit'),
      ...(app !== undefined && { app_id: app }),
    }
    await printPaged(call, (await call.client()).customObjects.list(query), objectTable)
  })
}
