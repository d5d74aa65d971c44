import type { Context } from 'cordis'
import type { ToolDefinition, TurnEvent } from '@headrace/agent'
import type { Chunk } from '@headrace/message'
import type { Piece, ProgressPiece } from '@headrace/session'
import { type Harness, harness } from '@headrace/testing'
import { until } from '@headrace/testing/gate'
import { describe, expect, it, onTestFinished } from 'vitest'

type Execute = ToolDefinition<{ readonly n?: number }>['execute']

async function withTool(execute: Execute, script: Parameters<typeof harness>[0] = {}): Promise<Harness> {
  const plugin = {
    name: 'some', inject: ['tools'],
    apply: async (ctx: Context) => void ctx.tools.define<{ readonly n?: number }>({ name: 'it', description: '', parameters: { type: 'object' }, execute }),
  }
  const made = await harness({ script: [{ text: 'Well.', calls: [{ name: 'it', id: 'c1', arguments: { n: 7 } }] }, 'seen'], plugins: [plugin], ...script })
  onTestFinished(() => made.dispose())
  return made
}

const resultsOf = async (made: Harness) => (await made.events()).flatMap((event) => (event.type === 'tool/result' ? [event.data] : []))

/** What a door shows of progress: a piece stands where it says, what is of an earlier state is gone. */
function shown(pieces: readonly ProgressPiece[]): string {
  let [from, text] = [0, '']
  for (const piece of pieces) {
    if (piece.from > from) text = ''
    from = piece.from
    text = text.slice(0, piece.at - from) + piece.text
  }
  return text
}

async function eventsOf(made: Harness): Promise<TurnEvent[]> {
  const told: TurnEvent[] = []
  for await (const event of made.agent.prompt('Do it.')) told.push(event)
  return told
}

describe('progress of a tool', () => {
  it('that it yields is told live, and only the last state is kept', async () => {
    const made = await withTool(async function* () {
      yield { done: 1, of: 2 }
      yield 'nearly'
      return 'x'
    })
    const told = await eventsOf(made)
    const pieces = told.filter((event): event is ProgressPiece => event.type === 'progress')
    expect(pieces[0]).toMatchObject({ block: 1, index: 0, from: 0, at: 0, text: '{"done":1,"of":2}', state: { done: 1, of: 2 } })
    expect(shown(pieces)).toBe('nearly')
    expect(await resultsOf(made)).toEqual([expect.objectContaining({ progress: 'nearly', message: expect.objectContaining({ role: 'tool' }) })])
    expect(JSON.stringify(made.requests[1]!.messages)).not.toContain('nearly')
    const names = told.map(({ type }) => type)
    expect(names.lastIndexOf('progress')).toBeLessThan(names.indexOf('tool/result'))
  })

  it('is output as well, of which the end is kept', async () => {
    const made = await withTool((_, run) => {
      for (let line = 0; line < 5_000; line++) run.output(`line ${line}\n`)
      return 'x'
    })
    const pieces = (await eventsOf(made)).filter((event): event is ProgressPiece => event.type === 'progress')
    const progress = (await resultsOf(made))[0]!.progress as string
    expect(progress).toHaveLength(10_000)
    expect(progress.endsWith('line 4999\n')).toBe(true)
    expect(pieces.length).toBeLessThan(20)
    expect(pieces.at(-1)!.at + pieces.at(-1)!.text.length).toBe(48_890)
  })

  it('is refused where it is no JSON, and not heard after the result', async () => {
    let late!: (text: string) => void
    const made = await withTool((_, run) => {
      late = run.output
      expect(() => run.progress(new Date() as never)).toThrow('progress is a Date')
      expect(() => run.output(3 as never)).toThrow('output takes a text')
      return 'x'
    })
    await made.run('Do it.')
    late('too late')
    expect((await resultsOf(made))[0]).not.toHaveProperty('progress')
  })

  it('of a tool that yields without waiting does not hold the process, and ends with the tool\'s time', async () => {
    let ended = false
    const made = await withTool(async function* () {
      try {
        for (let n = 0; ; n++) yield n
      } finally {
        ended = true
      }
    }, { settings: { toolTimeout: 20, grace: 5 } })
    expect((await made.run('Do it.')).reason).toBe('done')
    expect((await resultsOf(made))[0]).toMatchObject({ outcome: 'error', progress: expect.any(Number) })
    await until(() => ended)
  })

  it('that throws behind a state is an error that keeps it', async () => {
    const made = await withTool(async function* () {
      yield 'half'
      throw new Error('torn')
    })
    await made.run('Do it.')
    expect((await resultsOf(made))[0]).toMatchObject({ outcome: 'error', progress: 'half' })
  })
})

describe('a call that is abandoned', () => {
  it.each([['a cancel', (made: Harness) => made.agent.cancel('enough')], ['a park', (made: Harness) => void made.agent.park()]])(
    'by %s is unknown, and keeps what it showed last', async (_, end) => {
      let shownIt!: () => void
      const shownOnce = new Promise<void>((resolve) => { shownIt = resolve })
      let goOn!: () => void
      const held = new Promise<string>((resolve) => { goOn = () => resolve('too late') })
      const made = await withTool(async (_input, run) => {
        run.progress({ done: 1 })
        run.progress({ done: 2 })
        shownIt()
        return held
      }, { settings: { grace: 0 } })
      const handle = made.agent.prompt('Do it.')
      await shownOnce
      end(made)
      await handle.result
      goOn()
      await until(() => made.ctx.agents.get('test') === undefined || made.agent.state === 'idle')
      expect(await resultsOf(made)).toMatchObject([{ outcome: 'unknown', progress: { done: 2 } }])
    },
  )
})

describe('the handle of a turn', () => {
  it('says which tool begins, with which arguments', async () => {
    const made = await withTool(() => 'x')
    const told = await eventsOf(made)
    const start = told.find(({ type }) => type === 'tool-start')
    const answer = (await made.events()).find(({ type }) => type === 'assistant/message')!
    expect(start).toEqual({ type: 'tool-start', assistant: answer.seq, index: 0, id: 'c1', name: 'it', arguments: '{"n":7}', input: { n: 7 } })
    const names = told.map(({ type }) => type)
    expect(names.indexOf('tool/start')).toBeLessThan(names.indexOf('tool-start'))
  })
})

describe('pieces of an answer', () => {
  const listen = (made: Harness): Piece[] => {
    const pieces: Piece[] = []
    made.agent.session.on('piece', (piece) => pieces.push(piece))
    return pieces
  }

  it('have the dispatch, the block of the coming message, and the offset', async () => {
    const made = await withTool(() => 'x', { script: [{ reasoning: 'Hm.', text: 'abcdef', pieces: 3, calls: [{ name: 'it', arguments: { n: 1 } }] }, 'seen'] })
    const pieces = listen(made)
    await made.run('Do it.')
    const log = await made.events()
    const dispatch = log.find(({ type }) => type === 'request/dispatch')!.seq
    expect(pieces.filter((piece) => piece.dispatch === dispatch)).toEqual([
      { type: 'reasoning', dispatch, block: 0, at: 0, text: 'Hm.' },
      { type: 'text', dispatch, block: 1, at: 0, text: 'ab' },
      { type: 'text', dispatch, block: 1, at: 2, text: 'cd' },
      { type: 'text', dispatch, block: 1, at: 4, text: 'ef' },
      { type: 'arguments', dispatch, block: 2, at: 0, text: '{"n":1}', name: 'it' },
    ])
  })

  it('of a call whose name comes behind other text have its place in the message', async () => {
    const made = await withTool(() => 'x')
    const chunks: Chunk[] = [
      { type: 'tool-call', index: 0, id: 'late', arguments: '{"n"' }, { type: 'text', text: 'Well.' }, { type: 'tool-call', index: 0, name: 'it', arguments: ':1}' },
      { type: 'finish', reason: 'tool-calls' },
    ]
    let first = true
    made.ctx.on('llm/stream', async function* (_agent, _turn, _request, next) {
      yield* first ? chunks : next()
      first = false
    })
    const pieces = listen(made)
    await made.run('Do it.')
    expect(pieces.slice(0, 2)).toMatchObject([{ type: 'text', block: 0, text: 'Well.' }, { type: 'arguments', block: 1, at: 0, text: '{"n":1}' }])
    const answer = (await made.events()).find((event) => event.type === 'assistant/message')!
    expect(answer.data.message.content).toMatchObject([{ type: 'text', text: 'Well.' }, { type: 'tool-call', id: 'late', arguments: '{"n":1}' }])
  })

  it('come to who joins in mid-answer as one piece of what was said so far, and end with their request', async () => {
    const made = await withTool(() => 'x', { script: [{ text: 'abcdef', pieces: 3, hang: true }, 'seen'] })
    const first = listen(made)
    const handle = made.agent.prompt('Do it.')
    await until(() => first.length === 3)
    const second = listen(made)
    expect(second).toEqual([{ type: 'text', dispatch: first[0]!.dispatch, block: 0, at: 0, text: 'abcdef' }])
    handle.cancel()
    await handle.result
    expect(listen(made)).toEqual([])
  })

  it('of a running tool come to who joins as what it shows now, and end with its result', async () => {
    let open!: () => void
    const gate = new Promise<void>((resolve) => (open = resolve))
    const made = await withTool(async (_, run) => {
      run.output('one\n')
      run.output('two\n')
      await gate
      return 'x'
    })
    const first = listen(made)
    const handle = made.agent.prompt('Do it.')
    await until(() => shown(first.filter((piece): piece is ProgressPiece => piece.type === 'progress')) === 'one\ntwo\n')
    expect(listen(made)).toEqual([expect.objectContaining({ type: 'progress', from: 0, at: 0, text: 'one\ntwo\n' })])
    open()
    await handle.result
    expect(listen(made)).toEqual([])
  })
})
