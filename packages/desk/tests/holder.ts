import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** An app with a desk in a process of its own, which drives the session `s`: it runs what is built. */
const SCRIPT = `
import { createInterface } from 'node:readline'
import { Context } from 'cordis'
import * as agent from '@headrace/agent'
import * as desk from '@headrace/desk'
const [kind, path, mode] = process.argv.slice(1)
const store = kind === 'jsonl'
  ? new (await import('@headrace/plugin-store-jsonl')).JsonlStore({ directory: path, fsync: 'barrier' })
  : new (await import('@headrace/plugin-store-sqlite')).SqliteStore({ file: path, fsync: 'barrier' })
const say = (word) => process.stdout.write(word + '\\n')
let go
const told = new Promise((resolve) => (go = resolve))
createInterface({ input: process.stdin }).on('line', () => go())
if (mode === 'deaf') {
  const { create } = store
  store.create = async (id) => {
    const lease = await create.call(store, id)
    const look = lease.letters.bind(lease)
    lease.letters = async () => {
      const letters = await look()
      if (letters.length === 0) return letters
      say('letter')
      return new Promise(() => undefined)
    }
    return lease
  }
}
const ctx = new Context()
await ctx.plugin(agent, { quiet: true })
ctx.sessions.store(store)
let asked = 0
ctx.llm.adapter('scripted', { async *stream(request) {
  const number = asked++
  if (number === 0 && mode === 'slow') {
    say('asked')
    yield { type: 'text', text: 'I think' }
    await Promise.race([told, new Promise((_, no) => request.signal.addEventListener('abort', no))])
  }
  if (number === 0 && mode === 'asks') yield { type: 'tool-call', index: 0, id: 'c', name: 'knock', arguments: '{}' }
  else yield { type: 'text', text: 'holder ' + number }
  yield { type: 'finish', reason: number === 0 && mode === 'asks' ? 'tool-calls' : 'stop' }
} })
ctx.tools.define({ name: 'knock', description: 'Knocks.', parameters: { type: 'object' }, ask: () => 'Knock?', execute: () => 'knocked' })
await ctx.plugin(desk, {})
const seat = await ctx.desk.open({ id: 's', model: 'scripted/model' })
seat.attend()
if (mode === 'slow' || mode === 'asks') await seat.send('Go.')
say('ready')
process.on('SIGTERM', () => void ctx.fiber.dispose().then(() => process.exit(0)))
`

export interface Holder {
  readonly child: ChildProcess
  /** Resolves once it said a word. */
  said(word: string): Promise<void>
  /** Lets its first answer end. */
  go(): void
  /** Ends it by a signal, and waits until it is gone. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>
}

/**
 * Starts one.
 *
 * @param mode `slow`: its first answer waits for {@link Holder.go}; `asks`: its first call asks; `deaf`: it sees letters and takes none
 */
export function holder(kind: string, path: string, mode: 'idle' | 'slow' | 'asks' | 'deaf'): Holder {
  const cwd = fileURLToPath(new URL('../../..', import.meta.url))
  const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT, kind, path, mode], { cwd, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  let out = ''
  const waiting = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    for (const look of waiting) look()
  })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    child,
    said: (word) => new Promise((resolve, reject) => {
      const look = (): void => {
        if (out.split('\n').includes(word)) resolve()
      }
      waiting.add(look)
      look()
      void ended.then(() => reject(new Error(`it ended without ${word}: ${out}`)))
    }),
    go: () => void child.stdin.write('\n'),
    end: (signal) => {
      child.kill(signal)
      return ended
    },
  }
}
