import {
  BlockCache, BreakpointCache, CacheError, type Token, UnitCache, createModelServer, promptText, promptTokens, sentPrompt,
  simulateCache, tokensOf,
} from '@headrace/model-server'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const run = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)

describe('BlockCache', () => {
  it('reads whole blocks of the longest prefix shared with any earlier request', () => {
    const cache = new BlockCache()
    expect(cache.send({ tokens: run(0, 200) })).toEqual({ input: 200, cached: 0, written: 0 })
    expect(cache.send({ tokens: run(0, 200) })).toEqual({ input: 200, cached: 192, written: 0 })
    expect(cache.send({ tokens: [...run(0, 130), ...run(900, 990)] }).cached).toBe(128)
    expect(cache.send({ tokens: [-1, ...run(0, 199)] }).cached).toBe(0)
    expect(cache.send({ tokens: run(0, 63) }).cached).toBe(0)
    expect(cache.send({ tokens: [] })).toEqual({ input: 0, cached: 0, written: 0 })
  })

  it('agrees with the longest common prefix, for arbitrary requests', () => {
    const requests = fc.array(fc.array(fc.constantFrom<Token>(1, '1', 'a', 'aa', ''), { maxLength: 24 }), { maxLength: 12 })
    fc.assert(fc.property(requests, fc.integer({ min: 1, max: 4 }), (all, size) => {
      const { requests: uses } = simulateCache(new BlockCache(size), all.map((tokens) => ({ tokens })))
      for (const [index, tokens] of all.entries()) {
        const shared = all.slice(0, index).map((earlier) => {
          const end = tokens.findIndex((token, at) => token !== earlier[at])
          return end === -1 ? tokens.length : end
        })
        expect(uses[index]?.cached).toBe(Math.floor(Math.max(0, ...shared) / size) * size)
      }
    }))
  })
})

describe('UnitCache', () => {
  it('reads a request that the next one begins with whole, its answer included', () => {
    const cache = new UnitCache()
    cache.send({ tokens: run(0, 100), output: run(100, 110) })
    expect(cache.send({ tokens: run(0, 150) })).toEqual({ input: 150, cached: 110, written: 0 })
    expect(cache.send({ tokens: run(0, 105) }).cached).toBe(100)
    expect(cache.send({ tokens: run(0, 100), output: run(100, 110) }).cached).toBe(100)
  })

  it('finds nothing in a request it only parts from, but reads that part the next time', () => {
    const cache = new UnitCache()
    cache.send({ tokens: [...run(0, 100), 1] })
    expect(cache.send({ tokens: [...run(0, 100), 2] }).cached).toBe(0)
    expect(cache.send({ tokens: [...run(0, 100), 3] }).cached).toBe(100)
  })

  it('runs one request behind when each ends with something of its own', () => {
    const prompts = [100, 200, 300, 400].map((end) => ({ tokens: [...run(0, end), -end] }))
    expect(simulateCache(new UnitCache(), prompts).requests.map((use) => use.cached)).toEqual([0, 0, 100, 200])
  })

  it('reads up to the units it cut at intervals, where it cuts any', () => {
    const cache = new UnitCache(64)
    cache.send({ tokens: [...run(0, 200), 1] })
    expect(cache.send({ tokens: [...run(0, 200), 2] }).cached).toBe(192)
  })
})

describe('BreakpointCache', () => {
  const cache = (options = {}) => new BreakpointCache({ minimum: 10, ...options })

  it('reads up to a breakpoint an earlier request wrote, and writes from there to its own last', () => {
    const { requests, total } = simulateCache(cache(), [
      { tokens: run(0, 100), breakpoints: [40, 90] },
      { tokens: run(0, 150), breakpoints: [40, 140] },
      { tokens: [...run(0, 60), ...run(500, 600)], breakpoints: [40, 160] },
      { tokens: run(0, 150) },
    ])
    expect(requests).toEqual([
      { input: 100, cached: 0, written: 90 },
      { input: 150, cached: 90, written: 50 },
      { input: 160, cached: 40, written: 120 },
      { input: 150, cached: 0, written: 0 },
    ])
    expect(total).toEqual({ input: 560, cached: 130, written: 260 })
  })

  it('looks back over twenty blocks from each breakpoint, its own included', () => {
    const blocks = run(0, 41).map((index) => (index + 1) * 10)
    const prompts = (breakpoints: number[]) => [
      { tokens: run(0, 100), blocks: blocks.slice(0, 10), breakpoints: [100] },
      { tokens: run(0, 410), blocks, breakpoints },
    ]
    const cached = (breakpoints: number[]) => simulateCache(cache(), prompts(breakpoints)).requests[1]?.cached
    expect(cached([290])).toBe(100)
    expect(cached([300])).toBe(0)
    expect(cached([200, 410])).toBe(100)
    expect(cached([90])).toBe(0)
  })

  it('neither reads nor writes less than the minimum', () => {
    const short = { tokens: run(0, 1_500), breakpoints: [1_023] }
    expect(simulateCache(new BreakpointCache(), [short, short]).total).toEqual({ input: 3_000, cached: 0, written: 0 })
    const long = { tokens: run(0, 1_500), breakpoints: [1_024] }
    expect(simulateCache(new BreakpointCache(), [long, long]).total).toEqual({ input: 3_000, cached: 1_024, written: 1_024 })
  })

  it('refuses a fifth breakpoint, and one outside the prompt', () => {
    expect(() => cache().send({ tokens: run(0, 100), breakpoints: [10, 20, 30, 40, 50] })).toThrow(CacheError)
    expect(() => cache().send({ tokens: run(0, 100), breakpoints: [101] })).toThrow('at 101')
  })
})

describe('tokens', () => {
  it('are four characters each, the last what is left, and join to the text', () => {
    expect(tokensOf('abcdefghij')).toEqual(['abcd', 'efgh', 'ij'])
    expect(tokensOf('')).toEqual([])
  })

  it('of a body are those of its tools, then its messages', () => {
    const body = { tools: [{ type: 'function', function: { name: 'a' } }], messages: [{ role: 'user', content: 'x' }] } as const
    expect(promptText(body)).toBe('{"type":"function","function":{"name":"a"}}\n{"role":"user","content":"x"}\n')
    expect(promptTokens(body)).toBe(Math.ceil(promptText(body).length / 4))
  })

  it('that differ in half a character are different', () => {
    const cache = new BlockCache(1)
    cache.send({ tokens: ['abc\uD83D', '\uDE00'] })
    expect(cache.send({ tokens: ['abc\uD83D', '\uDE01'] }).cached).toBe(1)
  })
})

describe('what is sent', () => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const text = (words: string, more: object = {}): object => ({ type: 'text', text: words, ...more })

  it('of Anthropic is tools, system, then each (role, block); a mark is a breakpoint and no part of it', () => {
    const body = (...marks: (object | undefined)[]): Record<string, unknown> => ({
      tools: [{ name: 'read', input_schema: {} }],
      system: [text('You help.', marks[0])],
      messages: [{ role: 'user', content: [text('a', marks[1]), text('b', marks[2])] }, { role: 'assistant', content: 'c' }],
    })
    const [plain, marked] = [sentPrompt('/v1/messages', body()), sentPrompt('/v1/messages', body(mark, undefined, mark))]
    expect(marked.tokens).toEqual(plain.tokens)
    expect(plain.breakpoints).toBeUndefined()
    expect(marked.breakpoints).toEqual([marked.blocks![1], marked.blocks![3]])
    expect(marked.blocks).toHaveLength(5)
  })

  it('of neighbours that became one message begins as it did before', () => {
    const one = sentPrompt('/v1/messages', { messages: [{ role: 'user', content: 'a' }] })
    const two = sentPrompt('/v1/messages', { messages: [{ role: 'user', content: [text('a'), text('b')] }] })
    expect(two.tokens.slice(0, one.tokens.length)).toEqual(one.tokens)
  })

  it('a fifth breakpoint is refused by the server, as Anthropic does', async () => {
    const server = await createModelServer(() => 'ok')
    const response = await fetch(`${server.url}/messages`, { method: 'POST', body: JSON.stringify({
      model: 'm', max_tokens: 1, messages: [{ role: 'user', content: Array.from({ length: 5 }, () => text('a', mark)) }],
    }) })
    await server.close()
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('A maximum of 4 blocks with cache_control')])
  })

  it('OpenAI reads blocks of 128 from 1,024 tokens on', () => {
    const cache = new BlockCache(128, 1_024)
    const tokens = Array.from({ length: 1_100 }, (_, index) => index)
    const reads = [1_000, 1_000, 1_100, 1_100].map((length) => cache.send({ tokens: tokens.slice(0, length) }).cached)
    expect(reads).toEqual([0, 0, 0, 1_024])
  })
})
