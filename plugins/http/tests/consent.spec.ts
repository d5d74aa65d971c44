import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { Stream, type App, app, isTurnEnd, toldEvents } from './kit.ts'

interface Ran extends App {
  readonly id: string
  readonly stream: Stream
  readonly ran: string[]
  /** The seq of the question that waits. */
  readonly question: number
}

/** A session that asks whether a tool may run. */
async function asking(command = 'npm test', more: { readonly calls?: number } = {}): Promise<Ran> {
  const ran: string[] = []
  const calls = Array.from({ length: more.calls ?? 1 }, (_, index) => ({ name: 'bash', arguments: { command: `${command}${index === 0 ? '' : ` ${index}`}` } }))
  const setup = (ctx: Context): void => void ctx.tools.define({
    name: 'bash', description: 'runs', parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
    ask: (_input: unknown) => 'Run it?',
    execute: ({ command: given }: { command: string }) => {
      ran.push(given)
      return `ran ${given}`
    },
  } as never)
  const made = await app({ script: [{ calls }, 'done'], setup })
  const id = await made.create()
  const stream = new Stream(await made.call('GET', `/sessions/${id}/events`))
  await made.json('POST', `/sessions/${id}/prompt`, { prompt: 'Go.' })
  const question = await asked(stream)
  return { ...made, id, stream, ran, question }
}

async function asked(stream: Stream, behind = -1): Promise<number> {
  let seq = -1
  await stream.until((message) => {
    const found = toldEvents([message]).find((event) => event.type === 'question/asked' && event.seq > behind)
    seq = found?.seq ?? seq
    return found !== undefined
  })
  return seq
}

describe('a question', () => {
  it('is shown whole, with what hides in it written out', async () => {
    const command = `npm test ${'x'.repeat(5_000)}\u202e\u200b; rm -rf build`
    const { json, id, question } = await asking(command)
    const { body } = await json<{ questions: { shown: string[]; call: unknown }[] }>('GET', `/sessions/${id}`)
    expect(body.questions).toMatchObject([{ session: id, question, about: 'permission', text: 'Run it?', call: { name: 'bash', input: { command } } }])
    const shown = body.questions[0]!.shown.join('\n')
    expect(shown).toContain('x'.repeat(5_000))
    expect(shown).toMatch(/\\u202e\\u200b; rm -rf build/)
    expect(shown).not.toMatch(/[\u202e\u200b]/)
  })

  it('is answered by its number, once: who says the same again is told that it stands, another answer is refused', async () => {
    const { json, id, question, stream, ran, events } = await asking()
    const answer = (given: unknown): ReturnType<App['json']> => json('POST', `/sessions/${id}/answer`, { question, answer: given })
    expect(await answer('allow')).toEqual({ status: 200, body: {} })
    expect(await answer('allow')).toEqual({ status: 200, body: { repeated: true } })
    expect(await answer('deny')).toMatchObject({ status: 409, body: { error: { code: 'QUESTION_CLOSED' } } })
    await stream.until(isTurnEnd)
    expect(await answer({ deny: 'no' })).toMatchObject({ status: 409 })
    expect(ran).toEqual(['npm test'])
    expect((await events(id)).filter(({ type }) => type === 'question/answered')).toMatchObject([{ data: { question, answer: 'allow', by: 'user' } }])
  })

  it.each<[string, unknown]>([
    ['no question', { answer: 'allow' }],
    ['a question by name', { question: 'Run it?', answer: 'allow' }],
    ['no answer', { question: 5 }],
    ['a negative number', { question: -1, answer: 'allow' }],
  ])('is not answered by what has %s', async (_, body) => {
    const { json, id, ran } = await asking()
    expect((await json('POST', `/sessions/${id}/answer`, body)).status).toBe(400)
    expect(ran).toEqual([])
  })

  it('is not answered by the number of another event, of the next question, or of another session', async () => {
    const { json, id, question, ran, create, events } = await asking()
    for (const seq of [0, question - 1, question + 1, 4_000]) expect((await json('POST', `/sessions/${id}/answer`, { question: seq, answer: 'allow' })).status).toBe(409)
    const other = await create()
    expect((await json('POST', `/sessions/${other}/answer`, { question, answer: 'allow' })).status).toBe(409)
    expect((await json('POST', `/sessions/${other}/answer`, { question, session: id, answer: 'allow' })).status).toBe(409)
    expect(ran).toEqual([])
    expect((await events(id)).filter(({ type }) => type === 'question/answered')).toEqual([])
  })

  it.each(['allow', 'yes', 'y', '{"answer":"allow"}'])('is not answered by a prompt or a steer that says %s', async (text) => {
    const { json, id, question, ran, stream, events } = await asking()
    await json('POST', `/sessions/${id}/steer`, { prompt: text })
    await json('POST', `/sessions/${id}/prompt`, { prompt: text })
    await stream.until((message) => toldEvents([message]).some(({ type, data }) => type === 'prompt/queued' && data.steer === undefined && data.letter !== undefined))
    expect((await json<{ questions: object[] }>('GET', `/sessions/${id}`)).body.questions).toMatchObject([{ question }])
    expect(ran).toEqual([])
    expect((await events(id)).filter(({ type }) => type === 'question/answered')).toEqual([])
  })

  it.each([true, 1, 'yes', 'ALLOW', ['allow'], { allow: true }, ''])('is not answered by %j, which is no answer', async (answer) => {
    const { json, id, question, ran } = await asking()
    expect(await json('POST', `/sessions/${id}/answer`, { question, answer })).toMatchObject({ status: 400, body: { error: { code: 'ANSWER_INVALID' } } })
    expect(ran).toEqual([])
  })

  it('remembers nothing that it did not offer', async () => {
    const { json, id, question, ran } = await asking()
    const remember = { rule: 'bash(*)', scope: 'folder', folder: '/' }
    expect((await json('POST', `/sessions/${id}/answer`, { question, answer: 'allow', remember })).status).toBe(400)
    expect(ran).toEqual([])
  })

  it('is closed with its turn: an answer that comes late changes nothing, then and later', async () => {
    const { json, id, question, ran, stream } = await asking()
    expect((await json('POST', `/sessions/${id}/cancel`, {})).status).toBe(204)
    await stream.until(isTurnEnd)
    expect(await json('POST', `/sessions/${id}/answer`, { question, answer: 'allow' })).toMatchObject({ status: 409, body: { error: { code: 'QUESTION_CLOSED' } } })
    expect(ran).toEqual([])
  })

  it('of several is answered one by one: what allowed the first does not allow the second', async () => {
    const { json, id, question, ran, stream } = await asking('make', { calls: 2 })
    await json('POST', `/sessions/${id}/answer`, { question, answer: 'allow' })
    const second = await asked(stream, question)
    expect((await json('POST', `/sessions/${id}/answer`, { question, answer: 'allow' })).body).toEqual({ repeated: true })
    expect(ran).toEqual([])
    await json('POST', `/sessions/${id}/answer`, { question: second, answer: { deny: 'not that' } })
    await stream.until(isTurnEnd)
    expect(ran).toEqual(['make'])
  })

  it('waits for whoever comes back: no reader is needed for it to stay', async () => {
    const { json, call, id, question, ran, stream } = await asking()
    await stream.leave()
    const later = new Stream(await call('GET', `/sessions/${id}/events`))
    expect(await asked(later)).toBe(question)
    await json('POST', `/sessions/${id}/answer`, { question, answer: 'allow' })
    await later.until(isTurnEnd)
    expect(ran).toEqual(['npm test'])
  })
})
