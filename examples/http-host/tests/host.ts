import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { removeFolder } from '@headrace/testing/folder'
import type { HandlerSettings } from '@headrace/plugin-http'
import { mainOf, plainEnv } from './run-example.ts'

/** Users of the tests, and their tokens. */
export const TOKENS = { alice: 'token-of-alice-1f3a', bob: 'token-of-bob-77c0', carol: 'token-of-carol-9e5d' } as const
export type User = keyof typeof TOKENS
/** The key of the model's provider. */
export const KEY = 'sk-live-4c1d5e9ab27f'

/** Every byte that any host has answered, and to whom. */
const answers: { readonly user: User | undefined; readonly text: string }[] = []
export const heard = (user: User | undefined, text: string): void => void answers.push({ user, text })

/** No answer holds a token or a key, and none a path of another user. */
export function expectNothingLeaked(): void {
  const secrets = [KEY, ...Object.values(TOKENS)]
  for (const { user, text } of answers.splice(0)) {
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
    expect(Object.keys(TOKENS).filter((other) => other !== user && text.includes(`workspaces/${other}`))).toEqual([])
  }
}

/** A folder with the sessions and workspaces of one host, and of those that come after it. */
export class Data {
  readonly root = mkdtempSync(join(tmpdir(), 'headrace-http-host-test-'))
  readonly sessions = join(this.root, 'sessions')

  workspace(user: User): string {
    return join(this.root, 'workspaces', user)
  }

  remove(): void {
    removeFolder(this.root)
  }
}

interface Health {
  readonly ready: boolean
  readonly draining: boolean
  readonly turns: number
  readonly sessions: number
}

/** The example as it was built, in a process of its own. */
export class Host {
  readonly url: string
  private readonly child: ChildProcess
  private readonly ended: Promise<number | NodeJS.Signals>
  private readonly said: () => string

  private constructor(url: string, child: ChildProcess, ended: Promise<number | NodeJS.Signals>, said: () => string) {
    this.url = url
    this.child = child
    this.ended = ended
    this.said = said
  }

  static async start(data: Data, model: string, options: Partial<HandlerSettings> = {}, env: NodeJS.ProcessEnv = {}): Promise<Host> {
    const users = Object.entries(TOKENS).map(([user, token]) => `${user}=${token}`).join(',')
    return Host.run({
      HOST_PORT: '0', HOST_DATA: data.root, HOST_USERS: users, HOST_OPTIONS: JSON.stringify(options),
      HEADRACE_MODEL: 'scripted', HEADRACE_BASE_URL: model, HEADRACE_API_KEY: KEY, XDG_CONFIG_HOME: data.root, ...env,
    })
  }

  /** Resolves when it listens. @throws with what it said, where it ended instead */
  static async run(env: NodeJS.ProcessEnv): Promise<Host> {
    const child = spawn(process.execPath, [mainOf('http-host')], { env: { ...plainEnv(), ...env }, stdio: ['ignore', 'inherit', 'pipe'] })
    let said = ''
    const ended = new Promise<number | NodeJS.Signals>((resolve) => child.once('close', (code, signal) => resolve(code ?? signal ?? 1)))
    const url = new Promise<string>((resolve) => {
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text
        const listening = /^listening at (\S+)$/m.exec(said)?.[1]
        if (listening) resolve(listening)
      })
    })
    const at = await Promise.race([url, ended.then((code) => { throw new Error(`it ended with ${code}: ${said}`) })])
    return new Host(at, child, ended, () => said)
  }

  /** What it said on stderr. */
  get err(): string {
    return this.said()
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  /** Its exit code, or the signal that killed it. */
  exit(): Promise<number | NodeJS.Signals> {
    return this.ended
  }

  async stop(): Promise<void> {
    this.kill('SIGKILL')
    await this.ended
  }

  async health(): Promise<{ readonly status: number; readonly body: Health }> {
    const response = await fetch(`${this.url}/health`)
    return { status: response.status, body: await response.json() as Health }
  }
}
