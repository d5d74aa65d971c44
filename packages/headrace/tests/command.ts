import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { type ModelServer, type ModelServerOptions, type Script, createModelServer } from '@headrace/model-server'
import type { SessionEvent } from '@headrace/session'
import { readLog } from '@headrace/plugin-store-jsonl'
import { removeFolder } from '@headrace/testing/folder'
import { runHere } from './here.ts'

export const BIN = fileURLToPath(new URL('../bin/headrace.js', import.meta.url))

export interface Ended {
  readonly code: number | NodeJS.Signals
  readonly out: string
  readonly err: string
}

export interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Resolves when stdout or stderr has matched. */
  seen(pattern: RegExp): Promise<void>
}

export interface StartOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Piped into stdin; without it stdin is /dev/null. */
  readonly input?: string
  /** Leaves stdin open. */
  readonly pipe?: true
}

/** A folder to work in, a place for logs and a scripted model: what a test of the command needs. */
export class Lab {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'headrace-test-')))
  readonly cwd = join(this.root, 'work')
  readonly sessions = join(this.root, 'state', 'headrace', 'sessions')
  private readonly servers: ModelServer[] = []
  private readonly children = new Set<ChildProcess>()

  constructor() {
    mkdirSync(this.cwd)
    writeFileSync(join(this.cwd, 'a.txt'), 'alpha\n')
  }

  async serve(script: Script, options?: ModelServerOptions): Promise<ModelServer> {
    const server = await createModelServer(script, options)
    this.servers.push(server)
    return server
  }

  get env(): Record<string, string> {
    const { PATH = '' } = process.env
    return { PATH, HOME: join(this.root, 'home'), XDG_STATE_HOME: join(this.root, 'state'), NODE_ENV: 'test' }
  }

  /** Starts the command that is built, in a process of its own. */
  start(args: readonly string[], options?: StartOptions): Running {
    return this.startNode(BIN, options, args)
  }

  startNode(file: string, { cwd = this.cwd, env = {}, input, pipe }: StartOptions = {}, args: readonly string[] = []): Running {
    const child = spawn(process.execPath, [file, ...args], { cwd, env: { ...this.env, ...env }, stdio: [input === undefined && !pipe ? 'ignore' : 'pipe', 'pipe', 'pipe'] })
    this.children.add(child)
    if (input !== undefined) child.stdin!.end(input)
    let [out, err] = ['', '']
    const waiting = new Set<() => void>()
    const look = (): void => { for (const wake of waiting) wake() }
    child.stdout!.setEncoding('utf8').on('data', (text: string) => { out += text; look() })
    child.stderr!.setEncoding('utf8').on('data', (text: string) => { err += text; look() })
    const ended = new Promise<Ended>((resolve) => child.once('close', (code, signal) => {
      this.children.delete(child)
      resolve({ code: code ?? signal!, out, err })
      look()
    }))
    const seen = (pattern: RegExp): Promise<void> => new Promise((resolve, reject) => {
      const check = (): void => {
        const found = pattern.test(out) || pattern.test(err)
        if (!found && this.children.has(child)) return
        waiting.delete(check)
        if (found) resolve()
        else reject(new Error(`it ended without ${String(pattern)}:\n${out}\n${err}`))
      }
      waiting.add(check)
      check()
    })
    return { child, ended, seen }
  }

  /** Runs a command line: in this process, which saves the start of another, unless it is given a stdin. */
  run(args: readonly string[], options: StartOptions = {}): Promise<Ended> {
    const { cwd = this.cwd, env = {}, input, pipe } = options
    if (input !== undefined || pipe) return this.start(args, options).ended
    return runHere(args, { cwd, env: { ...this.env, ...env } })
  }

  /** `headrace run` against a server of ours. */
  prompt(server: ModelServer, args: readonly string[], options?: StartOptions): Promise<Ended> {
    return this.run(['run', ...args, ...at(server)], options)
  }

  /** Resolves when the server has been asked so many times. */
  async asked(server: ModelServer, times = 1): Promise<void> {
    await expect.poll(() => server.requests.length).toBe(times)
  }

  /** Events of a session; of the only one, without an id. */
  async events(id?: string): Promise<readonly SessionEvent[]> {
    const events: SessionEvent[] = []
    for await (const batch of readLog(this.logFile(id))) events.push(...batch)
    return events
  }

  logFile(id?: string): string {
    const files = this.files().filter((name) => name.endsWith('.jsonl'))
    if (id === undefined && files.length !== 1) throw new Error(`${files.length} logs`)
    return join(this.sessions, id === undefined ? files[0]! : `${id}.jsonl`)
  }

  files(): readonly string[] {
    // Not the folder of cards, which is a cache.
    return readdirSync(this.sessions).filter((name) => !name.startsWith('.'))
  }

  read(name: string): string {
    return readFileSync(join(this.cwd, name), 'utf8')
  }

  async close(): Promise<void> {
    for (const child of this.children) child.kill('SIGKILL')
    for (const server of this.servers) await server.close()
    removeFolder(this.root)
  }
}

export function at(server: ModelServer): string[] {
  return ['--model', 'scripted', '--base-url', server.url]
}

/** JSON lines of an output. */
export function lines(out: string): readonly Record<string, unknown>[] {
  return out.trimEnd().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>)
}
