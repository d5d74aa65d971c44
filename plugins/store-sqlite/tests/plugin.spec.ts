import { readdirSync, readlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import * as agentPlugin from '@headrace/agent'
import { MemoryStore, Session } from '@headrace/session'
import * as storeSqlite from '@headrace/plugin-store-sqlite'
import { Context } from 'cordis'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { openStore, read, sql, temporaryFolder } from './logs.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.doUnmock('better-sqlite3')
  vi.doUnmock('../src/node-driver.ts')
})

async function load(config?: Partial<storeSqlite.Config>): Promise<{ readonly ctx: Context; readonly dispose: () => Promise<void> }> {
  const ctx = new Context()
  await ctx.plugin(agentPlugin, {})
  const fiber = await ctx.plugin(storeSqlite, config as storeSqlite.Config)
  return { ctx, dispose: async () => void (await fiber.dispose()) }
}

/** The files below a folder that this process has open; nothing where the system does not tell. */
function openBelow(folder: string): readonly string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(folder) ? [path] : []
    } catch {
      return []
    }
  })
}

describe('the store-sqlite plugin', () => {
  it('keeps sessions in its file while it is loaded, and closes it', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'sessions.sqlite')
    const { ctx, dispose } = await load({ file })
    const session = await Session.create(ctx.sessions.current, { id: 'a', cwd: '/work' })
    await session.close()
    if (process.platform === 'linux') expect(openBelow(folder)).not.toEqual([])
    await dispose()
    expect(ctx.sessions.current).toBeInstanceOf(MemoryStore)
    expect(openBelow(folder)).toEqual([])
    expect(readdirSync(folder)).toEqual(['sessions.sqlite'])
    expect(await read(openStore({ file }))).toMatchObject([{ seq: 0, data: { id: 'a', cwd: '/work' } }])
  })

  it('closes it with the last session that was open when it was unloaded: that one loses nothing', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'sessions.sqlite')
    const { ctx, dispose } = await load({ file })
    const store = ctx.sessions.current
    const session = await Session.create(store, { id: 'a' })
    await dispose()
    const input = { role: 'user', content: [{ type: 'text', text: 'Hi' }] } as const
    session.append({ type: 'prompt/queued', data: { input, owner: 'user' } })
    await session.close()
    expect(openBelow(folder)).toEqual([])
    expect(await read(openStore({ file }))).toHaveLength(2)
    await expect(store.lease('a')).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })

  it('keeps them below $XDG_STATE_HOME unless told where, and below the home folder without an absolute one', async () => {
    const state = temporaryFolder()
    vi.stubEnv('XDG_STATE_HOME', state)
    const { ctx, dispose } = await load()
    expect((ctx.sessions.current as storeSqlite.SqliteStore).file).toBe(join(state, 'headrace', 'sessions.sqlite'))
    await dispose()
    for (const relative of ['', 'relative/state']) {
      vi.stubEnv('XDG_STATE_HOME', relative)
      expect(storeSqlite.defaultFile()).toBe(join(homedir(), '.local', 'state', 'headrace', 'sessions.sqlite'))
    }
  })

  it('refuses a setting of fsync that it does not know, and a timeout that is none', async () => {
    await expect(load({ fsync: 'sometimes' as 'never' })).rejects.toThrow('fsync')
    await expect(load({ busyTimeout: -1 })).rejects.toThrow('busyTimeout')
  })

  it('does not load over a database that it cannot use, and leaves nothing open', async () => {
    const store = openStore()
    await store.open()
    await store.close()
    sql(store, 'PRAGMA user_version = 9')
    await expect(load({ file: store.file })).rejects.toMatchObject({ code: 'STORE_VERSION' })
    expect(openBelow(store.file)).toEqual([])
  })

  it('says how to install better-sqlite3 where that cannot be loaded, and Node has no SQLite', async () => {
    vi.doMock('../src/node-driver.ts', () => ({ nodeDriver: () => undefined }))
    vi.doMock('better-sqlite3', () => ({ default: class { constructor() { throw new Error('Could not locate the bindings file. Tried:\n → here') } } }))
    const wayOut = expect.stringMatching(/better-sqlite3.*cannot be loaded \(Could not locate the bindings file\); .*npm i better-sqlite3@12/) as unknown
    await expect(load({ file: join(temporaryFolder(), 'sessions.sqlite') })).rejects.toMatchObject({ code: 'STORE_DRIVER', message: wayOut })
  })
})
