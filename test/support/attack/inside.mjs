// What every try has at hand. Runs inside a node's sandbox: nothing of the project is there but these files.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'

export const targets = JSON.parse(readFileSync('targets.json', 'utf8'))
export const { SVC_TOKEN: token, SVC_BASE_URL: baseUrl, SVC_NODE_ID: own } = process.env
export const cwd = process.cwd()

/** What a shell command says, and its code. Ended after 10 s. */
export const sh = (command, { env = process.env } = {}) =>
  new Promise((resolve) => {
    execFile('bash', ['-c', command], { timeout: 10_000, killSignal: 'SIGKILL', env }, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? 'killed') : 0, said: `${stdout}${stderr}` }),
    )
  })

const numbers = {
  x64: {
    ...{ ptrace: 101, process_vm_readv: 310, unshare: 272, setns: 308, pivot_root: 155, open_by_handle_at: 304 },
    ...{ init_module: 175, kexec_load: 246, acct: 163, reboot: 169, swapon: 167, sethostname: 170, chroot: 161 },
  },
  arm64: {
    ...{ ptrace: 117, process_vm_readv: 270, unshare: 97, setns: 268, pivot_root: 41, open_by_handle_at: 265 },
    ...{ init_module: 105, kexec_load: 104, acct: 89, reboot: 142, swapon: 224, sethostname: 161, chroot: 51 },
  },
}[process.arch]

/** A system call by its name, with arguments as Perl writes them; answers `= <result>` and the error's text. */
export const systemCall = (name, ...args) => {
  // In a variable, since Perl lets the kernel write to what it is given.
  const script = `my @given = (${args.join(', ')}); my $r = syscall(${numbers[name]}, @given); print "= $r $!\\n"`
  return sh(`LC_ALL=C perl -e '${script}' 2>&1`)
}

/** Numbers of all processes that are seen here. */
export const processes = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name))

/** What comes of doing it: its answer as text, or the error's code. */
export const told = (work) => {
  try {
    const answer = work()
    return `got ${typeof answer === 'string' || Buffer.isBuffer(answer) ? answer : JSON.stringify(answer)}`
  } catch (error) {
    return error.code ?? String(error)
  }
}

/** One request with the node's token. A stream is read for as long as its head takes. */
export const call = (method, path, { body, headers = {}, bearer = token } = {}) =>
  new Promise((resolve) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const made = request(
      baseUrl + path,
      {
        method,
        timeout: 15_000,
        headers: {
          ...(bearer && { authorization: `Bearer ${bearer}` }),
          ...(text !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
      },
      (response) => {
        let said = ''
        const end = () => resolve({ status: response.statusCode, said, ...parsed(said) })
        response.setEncoding('utf8')
        response.on('data', (chunk) => {
          said += chunk
          if (response.headers['content-type']?.startsWith('text/event-stream')) made.destroy()
        })
        response.once('close', end)
      },
    )
    made.once('timeout', () => made.destroy(new Error('no answer in time')))
    made.once('error', (error) => resolve({ status: 0, said: String(error) }))
    made.end(text)
  })

const parsed = (text) => {
  try {
    return { json: JSON.parse(text) }
  } catch {
    // A stream, or nothing.
    return {}
  }
}

/** Asks again until it is so; the only wait here. */
export const until = async (look, what, limit = 20_000) => {
  for (const begun = performance.now(); performance.now() - begun < limit; ) {
    const found = await look()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`${what} did not come`)
}

/** What a listener or a socket says to these lines. */
export const converse = (where, lines = []) =>
  new Promise((resolve) => {
    let said = ''
    const socket = connect(where)
    const end = (more = '') => {
      socket.destroy()
      resolve(said + more)
    }
    socket.setTimeout(5000, () => end(' (silence)'))
    socket.once('connect', () => socket.write(lines.join('')))
    socket.on('data', (chunk) => {
      said += chunk.toString('latin1')
      if (/-ERR|PONG/.test(said)) end()
    })
    socket.once('error', (error) => end(error.code))
    socket.once('close', () => end())
  })
