// The mock model as a process of its own, for a container beside the services: it counts files with the shell and
// reports what the first line of the shell's answer says.
import { LLMock } from '@copilotkit/aimock'

const [command = 'true'] = process.argv.slice(2)
const mock = new LLMock({ host: '0.0.0.0', port: 8080 })
const call = (name, input) => ({ toolCalls: [{ name, arguments: JSON.stringify(input) }] })
const answers = ({ messages }) => messages.filter(({ role }) => role === 'assistant').length
mock.on({ predicate: (request) => answers(request) === 0 }, call('bash', { command }))
mock.on({ predicate: (request) => answers(request) > 0 }, (request) => {
  const told = request.messages.findLast(({ role }) => role === 'tool')
  const text = typeof told?.content === 'string' ? told.content : JSON.stringify(told?.content)
  return call('report', { kind: 'final', body: `The shell says ${text.split('\n', 1)[0].trim()}` })
})
await mock.start()
process.stdout.write('ready\n')
for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => process.exit(0))
