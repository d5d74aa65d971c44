import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { MemoryStore } from '@headrace/session'
import { removeFolder } from '@headrace/testing/folder'
import { app, expectRebuilds, textsOf } from './help.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'headrace-'))
  onTestFinished(() => removeFolder(path))
  return path
}

/** Another process, on the built lib, that drives the session `test`: says what became of that, and holds it until told to go. */
async function another(directory: string): Promise<{ readonly child: ChildProcess; readonly says: object }> {
  const script = fileURLToPath(new URL('writer-child.mjs', import.meta.url))
  const child = spawn(process.execPath, [script, directory, 'test'], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  for await (const line of createInterface(child.stdout)) return { child, says: JSON.parse(line) as never }
  throw new Error('it said nothing')
}

async function end(child: ChildProcess, signal?: 'SIGKILL'): Promise<void> {
  const closed = once(child, 'close')
  if (signal) child.kill(signal)
  else child.stdin!.end()
  await closed
}

const jsonl = (directory: string): JsonlStore => new JsonlStore({ directory, fsync: 'barrier' })

describe('L18 One writer', () => {
  it('across processes: while one drives a session, the other is refused, with the holder named', async () => {
    const directory = folder()
    const made = await app({ store: jsonl(directory) })
    await made.run('Hi.')
    const { child, says } = await another(directory)
    expect(says).toMatchObject({ code: 'SESSION_BUSY', holder: expect.stringMatching(new RegExp(`\\b${process.pid}\\b`)) as unknown })
    await end(child)
    expect(await made.run('Still mine.')).toMatchObject({ reason: 'done' })
    await expectRebuilds(made)
  })

  it('the other way round; and when the holder is done, or was killed, the session goes on', async () => {
    const directory = folder()
    const made = await app({ store: jsonl(directory) })
    await made.run('One.')
    await made.agent.dispose()
    for (const signal of [undefined, 'SIGKILL'] as const) {
      const { child, says } = await another(directory)
      expect(says).toEqual({ ok: true })
      await expect(made.ctx.agents.resume('test')).rejects.toMatchObject({ code: 'SESSION_BUSY', holder: expect.stringMatching(new RegExp(`\\b${child.pid}\\b`)) as unknown })
      await end(child, signal)
    }
    const agent = await made.ctx.agents.resume('test')
    await agent.prompt('Two.').result
    expect(textsOf(agent.session.deriveMessages()).slice(0, 3)).toEqual(['One.', 'ok', 'from another process'])
    await agent.dispose()
  })

  it('within a process: one agent a session, one lease a store', async () => {
    const store = new MemoryStore()
    const [one, two] = [await app({ store }), await app({ store, agent: { id: 'two' } })]
    await expect(one.ctx.agents.resume('test')).rejects.toMatchObject({ code: 'AGENT_RUNNING' })
    await expect(two.ctx.agents.resume('test')).rejects.toMatchObject({ code: 'SESSION_BUSY', holder: expect.stringContaining(String(process.pid)) as unknown })
    await expect(two.ctx.agents.create({ id: 'test' })).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    await expect(store.remove('test')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
  })

  it('of many that ask at once, one gets it', async () => {
    const made = await app({ store: jsonl(folder()) })
    await made.agent.dispose()
    const apps = await Promise.all(Array.from({ length: 4 }, (_, index) => app({ store: made.store, agent: { id: `own-${index}` } })))
    const results = await Promise.allSettled(apps.map(({ ctx }) => ctx.agents.resume('test')))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'SESSION_BUSY' })
  })
})
