import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** What one process of the benchmark does for another: named tasks with JSON in and out. */
export type Tasks = Readonly<Record<string, (input: never) => unknown>>

type InputOf<T extends Tasks, N extends keyof T> = Parameters<T[N]>[0]
type OutputOf<T extends Tasks, N extends keyof T> = Awaited<ReturnType<T[N]>>
type Answer = { readonly output: unknown } | { readonly error: string }

/** Serves tasks in this process, one after the other, until the parent lets go. */
export const serveTasks = (tasks: Tasks): void => {
  process.on('message', async ({ name, input }: { name: string; input: never }) => {
    const answer: Answer = await (async () => ({ output: await tasks[name]?.(input) }))().catch((error: Error) => ({
      error: error.stack ?? error.message,
    }))
    process.send?.(answer)
  })
  process.on('disconnect', () => process.exit(0))
}

/** A process of its own, so that neither the load nor the mock model shares an event loop with what is measured. */
export class Worker<T extends Tasks> {
  private constructor(private readonly child: ChildProcess) {}

  static start<T extends Tasks>(file: string): Worker<T> {
    return new Worker<T>(
      fork(new URL(file, import.meta.url), { serialization: 'advanced', execArgv: ['--enable-source-maps'] }),
    )
  }

  /** @throws Error of the task, or when the process ended. */
  async run<N extends keyof T & string>(name: N, input: InputOf<T, N>): Promise<OutputOf<T, N>> {
    this.child.send({ name, input } as object)
    const ended = new AbortController()
    const answered = once(this.child, 'message', { signal: ended.signal })
    const gone = once(this.child, 'exit', { signal: ended.signal }).then(() => {
      throw new Error(`the process for ${name} ended`)
    })
    try {
      const [answer] = (await Promise.race([answered, gone])) as [Answer]
      if ('error' in answer) throw new Error(answer.error)
      return answer.output as OutputOf<T, N>
    } finally {
      ended.abort()
      gone.catch(() => undefined)
      answered.catch(() => undefined)
    }
  }

  async stop(): Promise<void> {
    const gone = once(this.child, 'exit')
    this.child.disconnect()
    await gone
  }
}
