import { createHash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Agent } from '@headrace/agent'
import type { SessionEvent } from '@headrace/session'
import * as workspaceTools from '@headrace/plugin-workspace-tools'
import { type Harness, harness } from '@headrace/testing'
import type { Reply } from '@headrace/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { folder, put } from './kit.ts'

type Call = readonly [tool: string, input: object]

/** An agent on a folder whose model makes one call for each prompt: the calls in turn. */
async function onFolder(calls: readonly Call[]): Promise<Harness & { readonly cwd: string }> {
  const cwd = folder()
  put(cwd, { 'a.txt': 'one\ntwo\n' })
  const script = calls.flatMap(([name, input]): Reply[] => [{ calls: [{ name, arguments: input }] }, 'fine'])
  const made = await harness({ script, agent: { cwd }, plugins: [[workspaceTools, { tools: ['read', 'write', 'edit'] }]] })
  made.ctx.on('tools/ask', async () => 'allow')
  onTestFinished(() => made.dispose())
  return { ...made, cwd }
}

async function results(made: Harness): Promise<SessionEvent<'tool/result'>['data'][]> {
  return (await made.events()).flatMap((event) => (event.type === 'tool/result' ? [event.data] : []))
}

const textOf = (data: SessionEvent<'tool/result'>['data'] | undefined): string => JSON.stringify(data?.message.content[0].content)
const say = async (agent: Agent): Promise<void> => void expect((await agent.prompt('Go on.').result).reason).toBe('done')
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const READ: Call = ['read', { path: 'a.txt' }]
const WRITE: Call = ['write', { path: 'a.txt', content: 'mine\n' }]
const EDIT: Call = ['edit', { path: 'a.txt', old: 'two', new: '2' }]

describe('details of the file tools', () => {
  it('have path, size and SHA-256; of what was changed a diff, which the model is not sent', async () => {
    const made = await onFolder([READ, EDIT, ['write', { path: 'sub/b.txt', content: 'new\n' }]])
    for (let n = 0; n < 3; n++) await say(made.agent)
    const [read, edit, write] = (await results(made)).map(({ details }) => details)
    expect(read).toEqual({ path: 'a.txt', size: 8, sha256: sha256('one\ntwo\n') })
    expect(edit).toEqual({ path: 'a.txt', size: 6, sha256: sha256('one\n2\n'), diff: '--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n' })
    expect(write).toMatchObject({ path: 'sub/b.txt', size: 4, diff: expect.stringContaining('@@ -0,0 +1,1 @@\n+new\n') })
    const sent = JSON.stringify(made.requests.at(-1)!.messages)
    expect(sent).not.toContain('@@')
    expect(sent).not.toContain(sha256('one\ntwo\n'))
  })

  it('of a diff that is very long have its beginning, and say so', async () => {
    const content = Array.from({ length: 5_000 }, (_, n) => `line ${n}`).join('\n')
    const made = await onFolder([['write', { path: 'b.txt', content }]])
    await say(made.agent)
    const details = (await results(made))[0]!.details as { diff: string }
    expect(details.diff.length).toBeLessThan(20_100)
    expect(details.diff).toMatch(/\[… \d+ characters left out\]\n$/)
  })
})

describe('a file counts as read while the result that showed it is visible', () => {
  it('so that what a person changed since is not overwritten, also after a resume', async () => {
    const made = await onFolder([READ, WRITE, EDIT, READ, WRITE])
    await say(made.agent)
    writeFileSync(join(made.cwd, 'a.txt'), 'one\ntwo, by hand\n')
    const agent = await made.resume()
    await say(agent)
    await say(agent)
    for (const refused of (await results(made)).slice(1)) {
      expect(refused.outcome).toBe('error')
      expect(textOf(refused)).toContain('a.txt was changed since you read it')
    }
    expect(readFileSync(join(made.cwd, 'a.txt'), 'utf8')).toBe('one\ntwo, by hand\n')
    await say(agent)
    await say(agent)
    expect(readFileSync(join(made.cwd, 'a.txt'), 'utf8')).toBe('mine\n')
  })

  it('and no longer where compaction hid it, or a rewind took it back', async () => {
    for (const forget of [
      async ({ agent }: Harness) => {
        const entries = agent.session.entries()
        agent.replace(entries[0]!.id, entries.at(-1)!.id, ['A summary.'], { reason: 'test' })
      },
      async ({ agent }: Harness) => void (await agent.rewind()),
    ]) {
      const made = await onFolder([READ, WRITE])
      await say(made.agent)
      writeFileSync(join(made.cwd, 'a.txt'), 'by hand\n')
      await forget(made)
      await say(made.agent)
      expect((await results(made)).at(-1)).toMatchObject({ outcome: 'done' })
      expect(readFileSync(join(made.cwd, 'a.txt'), 'utf8')).toBe('mine\n')
    }
  })

  it('one that was removed is refused once: who writes it again wants it', async () => {
    const made = await onFolder([READ, WRITE, WRITE])
    await say(made.agent)
    rmSync(join(made.cwd, 'a.txt'))
    await say(made.agent)
    expect(textOf((await results(made)).at(-1))).toContain('a.txt was removed since you read it')
    await say(made.agent)
    expect((await results(made)).at(-1)).toMatchObject({ outcome: 'done', details: { path: 'a.txt' } })
  })
})
