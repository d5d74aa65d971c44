import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import type { EventDraft } from '@headrace/session'
import { Session } from '@headrace/session'
import { sha256 } from '@headrace/message'
import type { Measure } from './measure.ts'

const HEADRACE = join(dirname(createRequire(import.meta.url).resolve('headrace/package.json')), 'bin', 'headrace.js')
const SESSIONS = 100_000
/** How many folders they are spread over. */
const FOLDERS = 500

/** What the command costs beside 100,000 sessions: the process's start is in it. */
export async function manyMeasures(folder: string): Promise<readonly Measure[]> {
  const directory = join(folder, 'many')
  const cwd = join(folder, 'many-work')
  mkdirSync(cwd)
  await fill(directory, cwd)
  const of = `beside ${SESSIONS.toLocaleString('en')} sessions`
  const store = ['--store', `jsonl:${directory}`]
  return [
    { key: 'many-first', title: `\`headrace sessions\` ${of}, until its first line`, unit: 'ms', sample: () => firstLine(cwd, ['sessions', ...store]) },
    { key: 'many-last', title: `\`headrace verify last\` ${of}, until its first line`, unit: 'ms', sample: () => firstLine(cwd, ['verify', 'last', ...store]) },
    { key: 'many-memory', title: `memory of \`headrace sessions\` ${of}, at its first line`, unit: 'bytes', sample: async () => (await run(cwd, ['sessions', ...store])).memory },
  ]
}

/** Writes the logs, and the cards as their writers would have left them, without a hundred thousand leases. */
async function fill(directory: string, cwd: string): Promise<void> {
  const sample = new JsonlStore({ directory: join(directory, 'sample'), fsync: 'never' })
  const session = await Session.create(sample, { id: 'sample', cwd })
  session.append({ type: 'prompt/queued', data: { input: { role: 'user', content: [{ type: 'text', text: 'Why does the test fail?' }] }, owner: 'user' } } satisfies EventDraft)
  await session.close()
  const log = readFileSync(join(directory, 'sample', 'sample.jsonl'), 'utf8').replace(/,"sum":"[0-9a-f]{8}"/g, '')
  const card = readFileSync(join(directory, 'sample', '.cards', 'of', 'sample'), 'utf8')
  mkdirSync(join(directory, '.cards', 'of'), { recursive: true })
  for (let index = 0; index < SESSIONS; index++) write(directory, index, index % FOLDERS === 0 ? cwd : `/srv/${index % FOLDERS}`, { log, card, cwd })
}

function write(
  directory: string,
  index: number,
  at: string,
  { log, card, cwd }: { readonly log: string; readonly card: string; readonly cwd: string },
): void {
  const id = `s${index}`
  const own = (text: string): string =>
    text.replaceAll('"sample"', `"${id}"`).replaceAll(JSON.stringify(cwd), JSON.stringify(at))
  const path = join(directory, `${id}.jsonl`)
  writeFileSync(path, own(log))
  utimesSync(path, 1_700_000_000 + index, 1_700_000_000 + index)
  const { size, mtimeMs } = statSync(path)
  const place = join(directory, '.cards', 'in', sha256(at))
  if (index < FOLDERS) mkdirSync(place, { recursive: true })
  writeFileSync(join(place, id), '')
  writeFileSync(
    join(directory, '.cards', 'of', id),
    JSON.stringify({ ...(JSON.parse(own(card)) as object), size, modified: mtimeMs }),
  )
}

async function firstLine(cwd: string, args: readonly string[]): Promise<number> {
  return (await run(cwd, args)).ms
}

async function run(cwd: string, args: readonly string[]): Promise<{ readonly ms: number; readonly memory: number }> {
  const start = performance.now()
  const child = spawn(process.execPath, [HEADRACE, ...args], { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
  const line = await new Promise<boolean>((resolve) => child.stdout.once('data', () => resolve(true)).once('close', () => resolve(false)))
  const ms = performance.now() - start
  if (!line) throw new Error(`headrace ${args.join(' ')} said nothing`)
  const memory = memoryOf(child)
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('close', resolve))
  return { ms, memory }
}

/** The most that a process had; 0 where the system does not tell. */
function memoryOf({ pid }: ChildProcess): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1_024
  } catch {
    return 0
  }
}
