import { copyFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { nodeFiles } from '@headrace/plugin-store-jsonl'
import type { KeptKey } from '@headrace/session'
import { contentDigest } from '@headrace/session'
import { gate } from '@headrace/testing/gate'
import { expect, it, vi } from 'vitest'
import { MailFolder } from '../src/mail.ts'
import { TestLog, append, opening, prompt, temporaryFolder } from './logs.ts'

it('never delivers a letter under the name of another that had its key before, and was taken meanwhile', async () => {
  const mail = new MailFolder(nodeFiles, `${temporaryFolder()}/a.mail`, () => Promise.resolve('0.of'))
  const draft = { kind: 'prompt', key: 'k', input: { role: 'user', content: [{ type: 'text', text: 'once' }] } } as const
  let taken: KeptKey | undefined
  const post = (find: (look: number) => Promise<KeptKey | undefined>): ReturnType<MailFolder['post']> => {
    let looks = 0
    return mail.post({ id: 'a', draft, after: 0, of: '0.of', find: () => find(++looks) })
  }
  const [claimed, end] = [gate(), gate()]
  let late: ReturnType<MailFolder['post']> | undefined
  // Has the key, and pauses before it delivers.
  const first = await post(async (look) => {
    if (look !== 2) return taken
    // A second sender delivers for it; a third looks in the log before the letter is taken, and claims the key behind that.
    await post(() => Promise.resolve(undefined))
    const [waiting] = await mail.list()
    late = post(async (again) => {
      if (again === 1) {
        await mail.remove([waiting!.letter.id])
        taken = { key: 'k', seq: 1, content: contentDigest(draft), letter: waiting!.letter.id }
        return undefined
      }
      claimed.open()
      await end.promise
      return taken
    })
    await claimed.promise
    return undefined
  })
  expect(await mail.list()).toEqual([])
  end.open()
  expect(first).toMatchObject({ letter: taken!.letter })
  expect(await late).toEqual({ repeated: true, logged: 1, letter: taken!.letter })
  expect(await mail.list()).toEqual([])
})

it('delivers a letter whose draft a holder took for abandoned, by a clock that jumped', async () => {
  let jump: (() => Promise<unknown>) | undefined
  const files = { ...nodeFiles, sync: async (fd: number) => {
    await nodeFiles.sync(fd)
    await jump?.()
  } }
  const mail = new MailFolder(files, `${temporaryFolder()}/a.mail`, () => Promise.resolve('0.of'))
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    for (const key of [undefined, 'k']) {
      jump = async () => {
        jump = undefined
        vi.setSystemTime(Date.now() + 7_200_000)
        await mail.list()
      }
      const draft = { kind: 'prompt', ...(key !== undefined && { key }), input: { role: 'user', content: [{ type: 'text', text: 'Hi' }] } } as const
      const { letter } = await mail.post({ id: 'a', draft, after: 0, of: '0.of', find: () => Promise.resolve(undefined) })
      expect(jump).toBeUndefined()
      expect((await mail.list()).map((waiting) => waiting.letter.id)).toContain(letter)
    }
  } finally {
    vi.useRealTimers()
  }
  expect(await mail.list()).toHaveLength(2)
})

it('leaves nothing beside a session that was removed while letters were posted to it', async () => {
  const log = new TestLog()
  for (let round = 0; round < 5; round++) {
    await log.write([opening()])
    const draft = { kind: 'prompt', input: { role: 'user', content: [{ type: 'text', text: 'Hi' }] } } as const
    const posts = [log.store.post('a', draft), log.store.remove('a'), log.store.post('a', { ...draft, key: 'k' })]
    await Promise.allSettled(posts)
    expect(readdirSync(log.directory)).toEqual(['.cards'])
  }
})

it('takes a letter away that is delivered a second time behind the event that names it, before the next is taken', async () => {
  const log = new TestLog()
  const lease = await log.store.create('a')
  append(lease, 0, opening())
  await lease.flush()
  const folder = join(log.directory, 'a.mail')
  /** What a sender does that was slow, or sends anew for one who was killed. */
  const again = (): (() => void) => {
    const [name] = readdirSync(folder)
    copyFileSync(join(folder, name!), join(log.directory, 'copy'))
    return () => copyFileSync(join(log.directory, 'copy'), join(folder, `000000000077-${name!.slice(13)}`))
  }
  const take = async (seq: number): Promise<void> => {
    await log.store.post('a', { kind: 'prompt', input: { role: 'user', content: [{ type: 'text', text: 'Hi' }] } })
    const deliver = again()
    const [{ id } = { id: '' }] = await lease.letters()
    append(lease, seq, { type: 'prompt/queued', data: { ...prompt('Hi').data, letter: id } })
    await lease.flush()
    expect(await lease.letters()).toEqual([])
    deliver()
  }
  await take(1)
  expect(await lease.letters()).toEqual([])
  expect(await log.store.letters('a')).toEqual([])
  await take(2)
  await lease.release()
  expect(await log.store.letters('a')).toEqual([])
})
