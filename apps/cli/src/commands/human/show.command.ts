import type { Command } from 'commander'
import { requestText } from '../../human/request.view.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerShow = (human: Command, shell: Shell): void => {
  const made = command(human, 'show <id>', {
    calls: ['human.requests.retrieve'],
    summary: 'One question, with what was answered',
  })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    const request = await (await client()).human.requests.retrieve(id)
    if (json) out.json(request)
    else out.line(requestText(request, out))
  })
}
