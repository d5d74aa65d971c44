import { type Lease, type Letter, type LetterDraft, type SessionStore, forkLog, verify } from '@headrace/session'
import { describe, expect, it, vi } from 'vitest'
import { until } from './gate.ts'
import { Follower } from './store-following.ts'
import { append, opening, prompt, read, write } from './store-logs.ts'

/** A prompt as a letter. */
export function letter(text: string, more: { readonly key?: string; readonly steer?: true } = {}): LetterDraft & { readonly kind: 'prompt' } {
  return { kind: 'prompt', input: { role: 'user', content: [{ type: 'text', text }] }, ...more }
}

function textIn(letter: Letter): string {
  return letter.kind === 'prompt' ? letter.input.content.map((block) => (block.type === 'text' ? block.text : '')).join('') : letter.kind
}

/** Takes letters, each by an event that names it. */
async function take(lease: Lease, seq: number, letters: readonly Letter[]): Promise<number> {
  const prompts = letters.map(({ id, ...letter }) => {
    const { kind: _, time: __, ...data } = letter as LetterDraft & { kind: 'prompt'; time: number }
    return { type: 'prompt/queued' as const, data: { ...data, owner: 'user', letter: id } }
  })
  append(lease, seq, prompts)
  await lease.flush()
  return seq + prompts.length
}

export function mailing(store: () => SessionStore, again: () => Promise<SessionStore>): void {
  it('gives letters to whoever holds the session, oldest first, from whatever store they were posted in', async () => {
    const other = await again()
    const lease = await store().create('a')
    append(lease, 0, [opening('a')])
    await lease.flush()
    const posted: (string | undefined)[] = []
    for (let index = 0; index < 12; index++) posted.push((await (index % 2 ? other : store()).post('a', letter(`${index}`))).letter)
    const letters = await lease.letters()
    expect(letters.map(textIn)).toEqual(Array.from({ length: 12 }, (_, index) => `${index}`))
    expect(letters.map(({ id }) => id)).toEqual(posted)
    expect(await other.letters('a')).toEqual(letters)
    await lease.release()
  })

  it('keeps their order where the clock jumps, and gives ids that say nothing of it', async () => {
    await write(store(), 'a', [[opening('a')]])
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      for (const [index, time] of [1e12, 5e11, 2e12, 0, 1.5e12].entries()) {
        vi.setSystemTime(time)
        await (index % 2 ? await again() : store()).post('a', letter(`${index}`, index === 2 ? { key: 'k' } : {}))
      }
    } finally {
      vi.useRealTimers()
    }
    expect((await store().letters('a')).map(textIn)).toEqual(['0', '1', '2', '3', '4'])
  })

  it('holds its lease, its letters, its card and its followers where the clock jumps by an hour, forward or back', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      const other = await again()
      const lease = await store().create('a')
      let next = append(lease, 0, [opening('a')]).length
      await lease.flush()
      const followers = [new Follower(store(), 'a'), new Follower(other, 'a')]
      for (const [turn, hours] of [1, -1, -1, 2].entries()) {
        vi.setSystemTime(Date.now() + hours * 3_600_000)
        await expect(other.lease('a')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
        await expect(other.remove('a')).rejects.toMatchObject({ code: 'SESSION_BUSY' })
        await other.post('a', letter(`one ${turn}`, { key: `k${turn}` }))
        vi.setSystemTime(Date.now() - hours * 3_600_000)
        await store().post('a', letter(`two ${turn}`))
        const letters = await lease.letters()
        expect(letters.map(textIn)).toEqual([`one ${turn}`, `two ${turn}`])
        next = await take(lease, next, letters)
        append(lease, next++, [{ type: 'turn/start', data: { turn: turn + 1, woke: 'wake' } }])
        await lease.flush()
        await until(async () => (await other.card('a')).turn?.number === turn + 1)
        expect(await other.card('a')).toMatchObject({ state: 'running', queued: 2 * (turn + 1) })
        expect(await other.post('a', letter(`one ${turn}`, { key: `k${turn}` }))).toMatchObject({ repeated: true })
      }
      for (const follower of followers) await follower.until(({ events }) => events.length === next)
      await lease.release()
      expect(await other.letters('a')).toEqual([])
      expect(await other.card('a')).toMatchObject({ state: 'parked', turn: { number: 4 } })
    } finally {
      vi.useRealTimers()
    }
  })

  it('calls whoever waits for a letter, from whatever store', async () => {
    const lease = await store().create('a')
    append(lease, 0, [opening('a')])
    await lease.flush()
    let calls = 0
    const off = lease.onLetter(() => void calls++)
    for (const from of [store(), await again()]) {
      const before = calls
      await from.post('a', letter('Hi'))
      await until(() => calls > before)
    }
    off()
    await lease.release()
  })

  takingLetters(store, again)
  keys(store, again)
  refusingLetters(store)
}

function takingLetters(store: () => SessionStore, again: () => Promise<SessionStore>): void {
  it('does not give a letter again that an event names, nor in a later life, and refuses a second event that names it', async () => {
    const lease = await store().create('a')
    append(lease, 0, [opening('a')])
    await lease.flush()
    for (const text of ['one', 'two']) await store().post('a', letter(text))
    const [one, two] = await lease.letters()
    await take(lease, 1, [one!])
    expect(await lease.letters()).toEqual([two])
    await expect(take(lease, 2, [one!])).rejects.toMatchObject({ code: 'LETTER_TAKEN' })
    await lease.release()
    expect(await store().letters('a')).toEqual([two])
    const next = await (await again()).lease('a')
    expect(await next.letters()).toEqual([two])
    await take(next, 2, [two!])
    await next.release()
    expect(await store().letters('a')).toEqual([])
    expect(await read(store(), 'a')).toHaveLength(3)
  })

  it('has a cancel and an answer that come too late done once an event says so', async () => {
    const lease = await store().create('a')
    append(lease, 0, [opening('a'), { type: 'turn/start', data: { turn: 1, woke: 'prompt' } }, { type: 'turn/end', data: { turn: 1, reason: 'done', settled: 0 } }])
    await lease.flush()
    await store().post('a', { kind: 'cancel', turn: 1, reason: 'enough' })
    await store().post('a', { kind: 'answer', question: 1, answer: 'yes' })
    const [cancel, answer] = await lease.letters()
    append(lease, 3, [{ type: 'letter/refused', data: { letter: cancel!.id, reason: 'turn 1 has ended' } }, { type: 'letter/refused', data: { letter: answer!.id, reason: 'event 1 is no question' } }])
    expect(await lease.letters()).toEqual([])
    await lease.release()
    expect(verify(await read(await again(), 'a')).difference).toBeUndefined()
    expect(await store().letters('a')).toEqual([])
  })

  it('keeps a letter that comes as its holder leaves for the next one', async () => {
    const texts = Array.from({ length: 8 }, (_, index) => `${index}`)
    let lease = await store().create('a')
    append(lease, 0, [opening('a')])
    await lease.flush()
    let next = 1
    for (const text of texts) {
      const posted = (await again()).post('a', letter(text))
      if (Number(text) % 2) await posted
      const leaving = lease.release()
      await Promise.all([leaving, posted])
      lease = await (await again()).lease('a')
      next = await take(lease, next, await lease.letters())
    }
    await lease.release()
    expect((await read(store(), 'a')).flatMap(({ type, data }) => (type === 'prompt/queued' ? data.input.content.map((block) => (block.type === 'text' ? block.text : '')) : []))).toEqual(texts)
  })

  it('lets a plugin have a field that is called letter: its events take none', async () => {
    const lease = await store().create('a')
    append(lease, 0, [opening('a')])
    await lease.flush()
    const { letter: id } = await store().post('a', letter('Hi'))
    for (const seq of [1, 2]) append(lease, seq, [{ type: 'mail/seen', data: { letter: id } } as never])
    await lease.flush()
    expect(await lease.letters()).toMatchObject([{ id }])
    await lease.release()
    const next = await (await again()).lease('a')
    expect(await next.letters()).toMatchObject([{ id }])
    await next.release()
  })

  it('never gives the id of a letter again: not after a removal, nor to a fork, which has none of the letters', async () => {
    await write(store(), 'a', [[opening('a')]])
    const ids = [await store().post('a', letter('one')), await store().post('a', letter('two'))].map(({ letter }) => letter)
    await forkLog(store(), 'a', 'b')
    expect(await store().letters('b')).toEqual([])
    await store().remove('a')
    await write(store(), 'a', [[opening('a')]])
    const lease = await store().lease('a')
    expect(await lease.letters()).toEqual([])
    ids.push((await store().post('a', letter('three'))).letter, (await store().post('b', letter('four'))).letter)
    expect(new Set(ids).size).toBe(4)
    await lease.release()
  })
}

function refusingLetters(store: () => SessionStore): void {
  it('refuses letters to a session that is not there, or that never began', async () => {
    await expect(store().post('none', letter('Hi'))).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(store().letters('none')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    const lease = await store().create('a')
    await expect(store().post('a', letter('Hi'))).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await lease.release()
  })

  describe('a letter', () => {
    const wrong: readonly (readonly [string, object])[] = [
      ['of another kind', { kind: 'order' }],
      ['of a kind that objects have', { kind: '__proto__' }],
      ['of a kind that is no text', { kind: ['prompt'] }],
      ['signed by somebody', { ...letter('Hi'), owner: 'plugin/key' }],
      ['without an input', { kind: 'prompt' }],
      ['with an input of a model', { kind: 'prompt', input: { role: 'assistant', content: [] } }],
      ['with an empty key', letter('Hi', { key: '' })],
      ['with a key that is too long', letter('Hi', { key: 'x'.repeat(201) })],
      ['that cancels no turn', { kind: 'cancel', turn: -1, reason: 'no' }],
      ['that cancels without a word', { kind: 'cancel', turn: 1 }],
      ['that answers no question', { kind: 'answer', question: 1.5, answer: 'yes' }],
      ['without an answer', { kind: 'answer', question: 1 }],
    ]
    it.each(wrong)('%s is refused when it is posted', async (_, draft) => {
      await write(store(), 'a', [[opening('a')]])
      await expect(store().post('a', draft as LetterDraft)).rejects.toMatchObject({ code: 'LETTER_INVALID' })
      expect(await store().letters('a')).toEqual([])
    })

    it.each<LetterDraft>([
      { kind: 'cancel', turn: 3, reason: 'enough' },
      { kind: 'answer', question: 7, answer: { allow: true }, remember: 'session' },
      { kind: 'prompt', input: { role: 'user', content: [{ type: 'text', text: '\u2028é\u{1F600}' }] }, steer: true, key: 'k', output: { type: 'object' } },
    ])('is given as it was posted: $kind', async (draft) => {
      await write(store(), 'a', [[opening('a')]])
      const { letter: id } = await store().post('a', draft)
      expect(await store().letters('a')).toEqual([{ ...draft, id, time: expect.any(Number) as unknown }])
    })
  })
}

function keys(store: () => SessionStore, again: () => Promise<SessionStore>): void {
  it('posts once what has one key, also where it was taken, and refuses the key for something else', async () => {
    const lease = await store().create('a')
    append(lease, 0, [opening('a')])
    await lease.flush()
    const other = await again()
    const first = await store().post('a', letter('Hi', { key: 'k' }))
    for (const at of [store(), other]) {
      expect(await at.post('a', letter('Hi', { key: 'k' }))).toEqual({ letter: first.letter, repeated: true })
      await expect(at.post('a', letter('Ho', { key: 'k' }))).rejects.toMatchObject({ code: 'KEY_TAKEN' })
    }
    expect(await lease.letters()).toHaveLength(1)
    await take(lease, 1, await lease.letters())
    for (const at of [store(), other]) {
      expect(await at.post('a', letter('Hi', { key: 'k' }))).toEqual({ letter: first.letter, repeated: true, logged: 1 })
      await expect(at.post('a', letter('Ho', { key: 'k' }))).rejects.toMatchObject({ code: 'KEY_TAKEN' })
    }
    expect(await lease.letters()).toEqual([])
    await lease.release()
    expect(await other.post('a', letter('Hi', { key: 'k' }))).toMatchObject({ repeated: true, logged: 1 })
    expect(await other.post('a', letter('Ho', { key: 'l' }))).not.toHaveProperty('repeated')
  })

  it('lets one of two win that post at once under one key', async () => {
    await write(store(), 'a', [[opening('a')]])
    const other = await again()
    for (let round = 0; round < 10; round++) {
      const key = `k${round}`
      const posted = await Promise.all([store(), other, store(), other].map((at) => at.post('a', letter('Hi', { key }))))
      expect(new Set(posted.map(({ letter }) => letter)).size).toBe(1)
      expect(posted.filter(({ repeated }) => !repeated)).toHaveLength(1)
      const apart = await Promise.allSettled([store().post('a', letter('this', { key: `${key}x` })), other.post('a', letter('that', { key: `${key}x` }))])
      expect(apart.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    }
    expect(await store().letters('a')).toHaveLength(20)
  })

  it('knows the keys of the newest 1,000 prompts, whether they came by letter or not', async () => {
    const keyed = (index: number): ReturnType<typeof prompt> => ({ type: 'prompt/queued', data: { ...prompt(`${index}`).data, key: `k${index}` } })
    const lease = await store().create('a')
    append(lease, 0, [opening('a')])
    for (let seq = 1; seq < 2_600; seq += 100) append(lease, seq, Array.from({ length: 100 }, (_, index) => keyed(seq + index)))
    await lease.release()
    const other = await again()
    for (const seq of [1_601, 1_900, 2_600]) {
      expect(await other.post('a', letter(`${seq}`, { key: `k${seq}` }))).toEqual({ repeated: true, logged: seq })
      await expect(other.post('a', letter('another', { key: `k${seq}` }))).rejects.toMatchObject({ code: 'KEY_TAKEN' })
    }
    await forkLog(store(), 'a', 'b')
    expect(await other.post('b', letter('2600', { key: 'k2600' }))).toMatchObject({ logged: 2_600 })
  })
}
