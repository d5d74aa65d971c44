import { readFileSync } from 'node:fs'
import { type Preset, presets } from '@headrace/plugin-models'
import { describe, expect, it } from 'vitest'

const page = readFileSync(new URL('../../docs/models.md', import.meta.url), 'utf8')

/** The rows of the table of providers, a list of cells each. */
const rows = /\| provider \|.*\n\|[-|]+\n((?:\|.*\n)+)/.exec(page)![1]!.trim().split('\n').map((row) => row.split('|').slice(1, -1).map((cell) => cell.trim()))

const named = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)

const CHAT_REASONING = {
  'reasoning_content': '`reasoning_content`', 'reasoning': '`reasoning_details` whole, else `reasoning`', 'thinking': 'parts of the content',
  'as-it-came': 'as it came', 'none': '–',
}

/** What the table says of what a preset takes. */
function told({ traits, baseURL }: Preset): readonly [speaks: string, system: string, reasoning: string] {
  switch (traits.family) {
    case 'openai-responses': return ['Responses, `store: false`, encrypted reasoning', 'yes, as `developer`', 'its own items']
    case 'anthropic': return ['Messages, with cache breakpoints', 'framed', '`thinking` with its signature']
    case 'google': return ['Gemini', 'framed', 'thought signatures']
    case 'openai-chat': {
      const { system, reasoning = 'as-it-came', reasoningDemanded } = traits
      const { hostname } = new URL(baseURL)
      return [
        `chat completions${hostname === 'localhost' ? ' at `localhost`' : ''}`, system === 'anywhere' ? 'yes' : 'framed',
        `${CHAT_REASONING[reasoning]}${reasoningDemanded ? ', also empty, with calls' : ''}`,
      ]
    }
  }
}

describe('the table of providers in docs/models.md', () => {
  it('has each of them once, in their order', () => {
    expect(rows.flatMap(([providers]) => named(providers!))).toEqual(presets().map(({ name }) => name))
  })

  it.each(presets().map((preset) => [preset.name, preset] as const))('says of %s its key, what it speaks, and what it takes', (name, preset) => {
    const [providers, keys, speaks, system, reasoning] = rows.find(([cell]) => named(cell!).includes(name))!
    const place = named(providers!).indexOf(name)
    expect(keys === 'none' ? undefined : named(keys!)[place]).toBe(preset.apiKeyEnv)
    const [, ports] = /, ports (.*)$/.exec(speaks!) ?? []
    if (ports !== undefined) expect(ports.split(', ')[place]).toBe(new URL(preset.baseURL).port)
    expect([speaks!.replace(/, ports .*/, ''), system, reasoning]).toEqual(told(preset))
  })
})
