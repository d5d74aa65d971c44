import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Config as DeskConfig } from '@headrace/desk'
import { createModelServer } from '@headrace/model-server'
import type { HandlerSettings } from '@headrace/plugin-http'
import type { Config as HeadraceConfig } from 'headrace'
import type { HttpConfig } from './http.ts'
import { script } from './script.ts'

/** The bearer token of each user. */
type Users = Readonly<Record<string, string>>

/** The app's settings from the environment. */
export interface Settings {
  readonly http: Partial<HttpConfig>
  readonly headrace: HeadraceConfig
  readonly desk: Partial<DeskConfig>
  readonly agents: Partial<HandlerSettings> & { readonly users: Users; readonly workspaces: string }
  /** Text to print at the start. */
  readonly note?: string
  /** Removes what was made for this run. */
  readonly cleanUp: () => void
}

/** Users of the scripted model, with public tokens. */
const DEMO_USERS = { alice: 'alice-token', bob: 'bob-token' }

/** @throws TypeError that names the variable */
export async function readSettings(env: NodeJS.ProcessEnv): Promise<Settings> {
  const { HEADRACE_MODEL: model, HEADRACE_BASE_URL: baseURL, HOST_OPTIONS: options } = env
  const minutes = numberOf('HOST_IDLE', env.HOST_IDLE ?? '10')
  const http = { host: env.HOST_ADDRESS ?? '127.0.0.1', port: numberOf('HOST_PORT', env.HOST_PORT ?? '8080') }
  if (model) {
    const data = resolve(env.HOST_DATA ?? 'data')
    return { http, ...parts(data, model, baseURL, usersOf(env.HOST_USERS), { options, minutes }), cleanUp: () => undefined }
  }
  const server = await createModelServer(script)
  const data = mkdtempSync(join(tmpdir(), 'headrace-http-host-'))
  const note = 'The model is SCRIPTED. Users: alice (token alice-token) and bob (bob-token). Nothing is kept. Set HEADRACE_MODEL for a real one.'
  return { http: { ...http, host: '127.0.0.1' }, ...parts(data, 'scripted', server.url, DEMO_USERS, { options, minutes }), note, cleanUp: () => rmSync(data, { recursive: true, force: true }) }
}

function parts(data: string, model: string, baseURL: string | undefined, users: Users, { options, minutes }: { readonly options: string | undefined; readonly minutes: number }): Pick<Settings, 'headrace' | 'desk' | 'agents'> {
  return {
    headrace: {
      model, baseURL,
      store: { directory: join(data, 'sessions') },
      // A shell can go where its process can; the other tools stay in their folder.
      tools: { tools: ['read', 'write', 'edit', 'list', 'glob', 'grep'] },
      // Both read above a user's folder, and in the home of the user that runs this process.
      agentsMd: false,
      // They stay in the user's own folder.
      approval: { allow: ['write', 'edit'] },
      skills: false,
      instructions: 'You keep notes for a person, in the folder you are given.',
    },
    desk: { idle: minutes, cache: minutes },
    agents: { ...moreOf(options), users, workspaces: join(data, 'workspaces') },
  }
}

function numberOf(name: string, text: string): number {
  if (!/^\d{1,5}(\.\d{1,5})?$/.test(text)) throw new TypeError(`${name} must be a number`)
  return Number(text)
}

/** `alice=her-token,bob=his-token`. */
function usersOf(text = ''): Users {
  const pairs = text.split(',').map((pair) => pair.trim()).filter(Boolean).map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] as const)
  if (pairs.length === 0 || pairs.some(([user]) => user === '')) throw new TypeError('HOST_USERS must give each user a token: alice=her-token,bob=his-token')
  return Object.fromEntries(pairs)
}

function moreOf(json = '{}'): Partial<HandlerSettings> {
  try {
    return JSON.parse(json) as Partial<HandlerSettings>
  } catch {
    throw new TypeError('HOST_OPTIONS must be JSON: options of createHandler, such as {"grace": 60000}')
  }
}
