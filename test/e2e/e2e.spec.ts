import { type ModelServer, createModelServer, lastUser, toolResults } from '@headrace/model-server'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { main } from './main.ts'

let server: ModelServer
beforeEach(async () => {
  server = await createModelServer((body) => {
    const word = lastUser(body)
    if (/^Think hard/.test(word)) return { reasoning: 'I think and think and think', stallAfter: 1 }
    if (/^Call weather/.test(word) && toolResults(body, { prompt: /./ }).length === 0) {
      return { reasoning: 'Both.', toolCalls: ['Oslo', 'Rome'].map((town) => ({ name: 'weather', arguments: { town } })) }
    }
    return { reasoning: 'It is easy.', text: 'Yes, it is so, and there is nothing more to say of it than that.' }
  })
})
afterEach(() => server.close())

/** Keys that are none, and the loopback server as every provider's. */
function env(...names: readonly string[]): Record<string, string> {
  const keys: Readonly<Record<string, string>> = { openai: 'OPENAI_API_KEY', anthropic: 'ANTHROPIC_API_KEY', google: 'GEMINI_API_KEY', deepseek: 'DEEPSEEK_API_KEY' }
  return Object.fromEntries(names.flatMap((name) => [[keys[name]!, 'none-of-yours-0123'], [`HEADRACE_E2E_${name.toUpperCase()}_BASE_URL`, server.url]]))
}

it('runs a session with each provider whose key is set, and says which were skipped', async () => {
  const printed: string[] = []
  const code = await main({ ...env('anthropic', 'deepseek', 'google'), HEADRACE_E2E_DEEPSEEK_MODEL: 'deepseek-flash' }, (line) => void printed.push(line), 1)
  expect(printed.filter((line) => !line.includes('skipped'))).toEqual([
    expect.stringMatching(/^anthropic\/claude-haiku-4-5: ok: 11 turns, \d\d requests proven on the wire, .* tokens in .*, \$0\.\d+$/),
    expect.stringMatching(/^google\/gemini-2\.5-flash: ok: 11 turns, /),
    expect.stringMatching(/^deepseek\/deepseek-flash: ok: 11 turns, /),
  ])
  expect(printed).toContain('openai: skipped, no key (OPENAI_API_KEY)')
  expect(code).toBe(0)
  expect(server.refused).toEqual([])
  expect(printed.join()).not.toContain('none-of-yours')
})

it('one that fails is named, with where; without a key nothing is tried', async () => {
  const printed: string[] = []
  const code = await main({ ...env('anthropic'), HEADRACE_E2E_ANTHROPIC_BASE_URL: `${server.url}/nowhere` }, (line) => void printed.push(line))
  expect(printed.at(-1)).toMatch(/^anthropic\/claude-haiku-4-5: FAILED in parallel calls: it ended error: .*404/)
  expect(code).toBe(1)
  const none: string[] = []
  expect(await main({}, (line) => void none.push(line))).toBe(0)
  expect(none.at(-1)).toMatch(/^Nothing was tried/)
  expect(none).toHaveLength(12)
})
