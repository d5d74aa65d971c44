import { homedir } from 'node:os'
import { join } from 'node:path'
import * as agentPlugin from '@headrace/agent'
import { MemoryStore, Session } from '@headrace/session'
import * as storeJsonl from '@headrace/plugin-store-jsonl'
import { Context } from 'cordis'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { read, temporaryFolder } from './logs.ts'

afterEach(() => vi.unstubAllEnvs())

async function load(config?: Partial<storeJsonl.Config>): Promise<{ readonly ctx: Context; readonly dispose: () => Promise<void> }> {
  const ctx = new Context()
  await ctx.plugin(agentPlugin, {})
  const fiber = await ctx.plugin(storeJsonl, config as storeJsonl.Config)
  return { ctx, dispose: async () => void (await fiber.dispose()) }
}

describe('the store-jsonl plugin', () => {
  it('keeps sessions in its directory while it is loaded', async () => {
    const directory = temporaryFolder()
    const { ctx, dispose } = await load({ directory })
    const session = await Session.create(ctx.sessions.current, { id: 'a', cwd: '/work' })
    await session.close()
    expect(await read(new storeJsonl.JsonlStore({ directory, fsync: 'never' }))).toMatchObject([{ seq: 0, data: { id: 'a', cwd: '/work' } }])
    await dispose()
    expect(ctx.sessions.current).toBeInstanceOf(MemoryStore)
  })

  it('keeps them below $XDG_STATE_HOME unless told where, and below the home folder without an absolute one', async () => {
    const state = temporaryFolder()
    vi.stubEnv('XDG_STATE_HOME', state)
    const { ctx, dispose } = await load()
    expect((ctx.sessions.current as storeJsonl.JsonlStore).directory).toBe(join(state, 'headrace', 'sessions'))
    await dispose()
    for (const relative of ['', 'relative/state']) {
      vi.stubEnv('XDG_STATE_HOME', relative)
      expect(storeJsonl.defaultDirectory()).toBe(join(homedir(), '.local', 'state', 'headrace', 'sessions'))
    }
  })

  it('refuses a setting of fsync that it does not know', async () => {
    await expect(load({ fsync: 'sometimes' as 'never' })).rejects.toThrow('fsync')
  })
})
