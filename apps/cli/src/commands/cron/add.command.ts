import type { Command } from 'commander'
import type { Client, Cron, CronsNextResponse } from '#sdk/index.js'
import { actionText, scheduleText, timesText, zoneOfSchedule } from '../../cron/cron.view.js'
import { repeated, wholeNumber } from '../../input.js'
import { command, type Invocation, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'
import { type AddOptions, cronBody } from './add.body.js'
import { addScheduleFlags, zoneOf } from './schedule.flags.js'

export const registerAdd = (cron: Command, shell: Shell): void => {
  const made = command(cron, 'add', {
    calls: ['crons.create'],
    mayCall: ['crons.next'],
    summary: 'Have something done at its time, once or again and again',
    about: `When: one of --cron, --every, --at and --in. What: one of --message, --new, --bash, --publish and --action-json. A text "-" is read
from standard input; what stands after -- is a program for a node of the engine exec.

It acts with your authority as it stands at each firing: a token that ends stops nothing, a grant that is narrowed does.
It keeps the clock of its zone, also when that is set forward or back.`,
    examples: [
      ['svc cron add --cron "0 9 * * 1-5" --new "look at the new issues"', 'an agent each working day at nine, here'],
      ['svc cron add --every 15m --bash "make check" --name check', 'a command each quarter of an hour'],
      ['svc cron add --in 2h --to <node> --message "is it done?"', 'once; inside a node it is told itself'],
      ['svc cron add --cron @daily --tz Asia/Tokyo -- ./backup.sh', 'a program as a node, at midnight in Tokyo'],
      [
        `svc cron add --every 5m --publish clock --event tick --payload '{"every":5}'`,
        'an event of an object, to whoever watches it',
      ],
      ['svc cron add --every 1h --action-json act.json', 'any action that the daemon takes'],
    ],
  })
  addScheduleFlags(made.optionsGroup('When:'))
  addActionFlags(made.optionsGroup('What:'))
  addNodeFlags(made.optionsGroup('What, with --new:'))
  addPolicyFlags(made.optionsGroup('How:'))
  performs<AddOptions>(made.optionsGroup('Options:'), shell, async (call) => {
    const body = await cronBody(call.options, shell, process.cwd())
    const client = await call.client()
    const created = await client.crons.create(body)
    if (call.json) call.out.json(created)
    else await explain(call, client, created)
  })
}

const addActionFlags = (made: Command): Command =>
  made
    .option('--message <text>', 'send a node a message; one that rests or has ended starts again')
    .option('--to <node>', '--message: which one; inside a node itself unless given')
    .option('--tier <tier>', '--message: critical, urgent, normal or deferred; normal unless given')
    .option('--new <prompt>', 'create a node, and hand it this work')
    .option('--bash <command>', "run a shell command where the daemon's host is")
    .option('--cwd <directory>', '--new and --bash: working directory; this one unless given')
    .option('--env <NAME=value>', '--bash and programs: more environment; may be repeated', repeated)
    .option('--timeout <time>', '--bash: ms, or with a unit: 30s, 5m; two minutes unless given, ten at most')
    .option('--publish <object>', 'publish an event of this object, by its name or id')
    .option('--event <name>', '--publish: which of those that it declares')
    .option('--payload <json>', '--publish: what the event says, @file or "-" for standard input; {} unless given')
    .option('--action-json <file>', 'the action as JSON, from a file or "-" for standard input')

const addNodeFlags = (made: Command): Command =>
  made
    .option('--engine <engine>', 'loop (an agent with tools) or exec (a program after --)')
    .option('--kind <kind>', 'role of the node, general unless given')
    .option('--node-name <name>', 'name of the node')
    .option('--strength <strength>', 'light, medium, strong or ultra')
    .option('--model <provider/model>', 'this model instead of the ladder of the strength')
    .option('--mode <mode>', 'base, or orchestrator')
    .option('--lifecycle <lifecycle>', 'terminal or resident; terminal unless given, so that each comes to an end')
    .option('--parent <id>', 'node that it works for')
    .option('--root', 'a node of its own, also when a node arms it')
    .option('--scopes <list>', 'narrower rights, separated by commas')
    .option('--worktree', 'work in a git worktree of its own, on a new branch')
    .option('--branch <name>', '--worktree, with this name for the branch')
    .option('--base <commit>', '--worktree, from this commit, branch or tag instead of HEAD')
    .option('--result-schema <file>', 'JSON Schema of the result that the node owes')
    .option('--stdin <form>', 'exec: how the prompt arrives, jsonl or text')

const addPolicyFlags = (made: Command): Command =>
  made
    .option('--name <name>', 'name of the schedule')
    .option('--for <node>', 'belongs to this node and acts as it; inside a node to itself')
    .option(
      '--missed <policy>',
      'slots that nobody was there to fire: skip, once (one for all of them) or all; once unless given',
    )
    .option('--window <time>', 'slots older than this are not made up for; 1h unless given, 7d at most')
    .option('--overlap <policy>', 'while the work before goes on: allow, skip or queue; skip unless given')
    .option('--jitter <time>', 'each slot up to so much later, so that many do not begin at once')
    .option('--max-failures <number>', 'failures in a row that pause it; 3 unless given', wholeNumber)
    .option('--delete-after-run', 'goes after its first success')

/** The times of it. */
const shown = 3

const explain = async ({ out, options }: Invocation<AddOptions>, client: Client, cron: Cron): Promise<void> => {
  const { id, schedule, action } = cron
  out.line(id)
  out.note(`${scheduleText(schedule)}: ${actionText(action)}`)
  // it is armed, whatever becomes of this question
  const next = await client
    .request<CronsNextResponse>('GET', `/v1/crons/${encodeURIComponent(id)}/next?count=${shown}`)
    .catch(() => undefined)
  if (next) out.note(timesText(next.data, zoneOfSchedule(schedule, zoneOf(options))))
  if (options.cron !== undefined && options.tz === undefined)
    out.note('the zone is that of this machine: --tz names another')
  out.note(`its times: svc cron next ${id}; what became of them: svc cron history ${id}`)
}
