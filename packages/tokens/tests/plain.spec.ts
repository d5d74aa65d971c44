import { type Message, copyJson, sha256 } from '@headrace/message'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CALL_OVERHEAD, IMAGE_TOKENS, MESSAGE_OVERHEAD, heuristicCounter, weighContext } from '../src/index.ts'
import { plainCounter } from '../src/plain.ts'
import { context, request, someContext, someMessages, someParts, system, tool, user, withContext } from './values.ts'

const length = () => plainCounter('length', (text) => text.length)

function spied() {
  const texts: string[] = []
  return { texts, counter: plainCounter('spy', (text) => (texts.push(text), text.length)) }
}

describe('messages', () => {
  it('cost their text and a constant each', () => {
    expect(length().countMessages([user('abc'), system('de')])).toBe(3 + 2 + 2 * MESSAGE_OVERHEAD)
  })

  it('cost their reasoning, the name and arguments of their calls, and what is in results; ids and metadata cost nothing', () => {
    const call = copyJson<Message>({ role: 'assistant', content: [{ type: 'reasoning', text: 'hm', metadata: { signature: 'x'.repeat(99) } }, { type: 'tool-call', id: 'call_12345', name: 'read', arguments: '{"a":1}' }] })
    expect(length().countMessages([call])).toBe(MESSAGE_OVERHEAD + 2 + CALL_OVERHEAD + 4 + 7)
    const result = copyJson<Message>({ role: 'tool', content: [{ type: 'tool-result', id: 'call_12345', name: 'read', content: [{ type: 'text', text: 'abc' }, { type: 'image', digest: sha256('i'), mediaType: 'image/png' }] }] })
    expect(length().countMessages([result])).toBe(MESSAGE_OVERHEAD + CALL_OVERHEAD + 3 + IMAGE_TOKENS)
  })

  it('that nobody can change are counted once; others every time', () => {
    const { texts, counter } = spied()
    const ours = user('ours')
    const theirs: Message = { role: 'user', content: [{ type: 'text', text: 'theirs' }] }
    for (let round = 0; round < 3; round++) counter.countMessages([ours, theirs])
    expect(texts).toEqual(['ours', 'theirs', 'theirs', 'theirs'])
  })

  it('that were added are all that a longer request counts: system, tools and old messages are remembered', () => {
    const { texts, counter } = spied()
    const parts = { system: 'be brief', tools: copyJson([tool('read')]), history: [user('one'), user('two')] }
    counter.countRequest(request(parts))
    texts.length = 0
    counter.countRequest(request({ ...parts, history: [...parts.history, user('three')] }))
    expect(texts).toEqual(['three'])
  })

  it('add up: a list costs what its parts cost', () => {
    const counter = heuristicCounter()
    fc.assert(
      fc.property(
        someMessages,
        someMessages,
        (a, b) => counter.countMessages([...a, ...b]) === counter.countMessages(a) + counter.countMessages(b),
      ),
    )
  })
})

describe('a request', () => {
  it('is counted term by term, by its segments', () => {
    const count = length().countRequest(request({ system: 'sys', tools: [tool('t')], prefix: [user('p')], before: [user('be')], history: [user('his'), user('t')], after: [user('after')] }))
    const overhead = MESSAGE_OVERHEAD
    expect(count).toEqual({
      system: 3 + overhead, tools: JSON.stringify(tool('t')).length, prefix: 1 + overhead, before: 2 + overhead, history: 4 + 2 * overhead, after: 5 + overhead,
      context: 0, correction: 0, total: 3 + JSON.stringify(tool('t')).length + 15 - 3 + 6 * overhead,
    })
  })

  it('without anything costs nothing', () => {
    expect(heuristicCounter().countRequest(request()).total).toBe(0)
  })

  it('costs the sum of its terms', () => {
    const counter = heuristicCounter()
    fc.assert(fc.property(someParts, (parts) => {
      const { total, ...terms } = counter.countRequest(request(parts))
      return total === Object.values(terms).reduce((a, b) => a + b)
    }))
  })
})

describe('a context', () => {
  it('weighs its two messages as text', () => {
    expect(weighContext(length(), context('head', 'the tail')).tokens).toBe(4 + 8)
    expect(weighContext(length(), context(undefined, undefined)).tokens).toBe(0)
  })

  it('is a term of its own, and leaves before and after: never counted twice, wherever it stands or whoever copied it', () => {
    const counter = heuristicCounter()
    fc.assert(fc.property(someParts, someContext, fc.boolean(), (parts, run, copied) => {
      const weight = weighContext(counter, run)
      const bare = counter.countRequest(request(parts))
      const sent = request(withContext(parts, run))
      const count = counter.countRequest(copied ? JSON.parse(JSON.stringify(sent)) : sent, { context: weight })
      expect(count).toEqual({ ...bare, context: weight.tokens, total: bare.total + weight.tokens })
    }))
  })

  it('counts the same whether its messages stand in the request yet or not', () => {
    const counter = heuristicCounter()
    const run = context('where we are', 'what is true')
    const weights = { context: weighContext(counter, run) }
    const parts = { before: [user('framing')], history: [user('hello')], after: [user('small state')] }
    expect(counter.countRequest(request(parts), weights)).toEqual(counter.countRequest(request(withContext(parts, run)), weights))
  })
})

describe('tool declarations', () => {
  it('are not counted where they were weighed already', () => {
    const { texts, counter } = spied()
    expect(counter.countRequest(request({ tools: [tool('read')] }), { tools: 42 })).toMatchObject({ tools: 42, total: 42 })
    expect(texts).toEqual([])
  })
})
