import { type Traits, GO_ON, MISTRAL_IDS, familyOf } from '@headrace/wire'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Told, conversation, requestOf } from './histories.ts'
import { RULES, blocksOf } from './rules.ts'

/** JSON whose shape is what is asked. */
type Parsed = ReturnType<typeof JSON.parse>

const blobs = { get: () => 'AAAA' } as unknown as ReadonlyMap<string, string>

interface Case {
  readonly model: string
  readonly traits: Traits
  readonly rules: (body: Parsed) => string[]
  readonly config?: object
}

const CASES: Readonly<Record<string, Case>> = {
  'OpenAI Responses': { model: 'openai/gpt-5', traits: { family: 'openai-responses' }, rules: RULES.responses },
  'OpenAI chat': { model: 'openai-chat/gpt-4o', traits: { family: 'openai-chat', system: 'anywhere', reasoning: 'none', usersApart: true, files: true, maxTokens: 'max_completion_tokens' }, rules: RULES.chat },
  'Claude with an effort': { model: 'anthropic/claude-opus-9', traits: { family: 'anthropic' }, rules: RULES.anthropic, config: { reasoningEffort: 'high' } },
  'Claude with a budget': { model: 'anthropic/claude-sonnet-4-5', traits: { family: 'anthropic' }, rules: RULES.anthropic, config: { reasoningEffort: 'high', maxOutputTokens: 9_000 } },
  'Gemini 3': { model: 'google/gemini-3-pro', traits: { family: 'google' }, rules: (body) => RULES.google(body, { signed: true }) },
  'Gemini 2.5': { model: 'google/gemini-2.5-pro', traits: { family: 'google' }, rules: RULES.google },
  DeepSeek: { model: 'deepseek/deepseek-flash', traits: { family: 'openai-chat', system: 'anywhere', reasoning: 'reasoning_content', reasoningDemanded: true, textOnly: true, usersApart: true, output: 'none' }, rules: (body) => [...RULES.chat(body), ...demanded(body)] },
  Mistral: { model: 'mistral/magistral', traits: { family: 'openai-chat', reasoning: 'thinking', ids: MISTRAL_IDS, answerBehindResults: true, streamOptions: 'none' }, rules: (body) => [...RULES.chat(body, { strictRoles: true }), ...mistral(body)] },
  OpenRouter: { model: 'openrouter/google/gemini-3', traits: { family: 'openai-chat', reasoning: 'reasoning', files: true }, rules: (body) => RULES.chat(body, { strictRoles: true }) },
  'any endpoint': { model: 'lab/any', traits: { family: 'openai-chat' }, rules: (body) => RULES.chat(body, { strictRoles: true }) },
}

/** api-docs.deepseek.com, thinking mode with tools: `reasoning_content` on each answer with calls; and contents are texts. */
function demanded({ messages }: Parsed): string[] {
  return messages.flatMap((message: Parsed) => [
    ...message.tool_calls && typeof message.reasoning_content !== 'string' ? ['no reasoning_content'] : [], ...message.content !== null && typeof message.content !== 'string' ? ['content is a list'] : [],
  ])
}

/** docs.mistral.ai, and "Unexpected role 'user' after role 'tool'", "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9". */
function mistral({ messages, stream_options: options }: Parsed): string[] {
  return [
    ...options ? ['stream_options'] : [], ...messages.flatMap((message: Parsed, index: number) => [
      ...message.role === 'user' && messages[index - 1]?.role === 'tool' ? [`messages[${index}]: user behind tool`] : [],
      ...(message.tool_calls ?? []).filter((call: Parsed) => !/^[a-zA-Z0-9]{9}$/.test(call.id)).map((call: Parsed) => `id ${call.id}`),
    ]),
  ]
}

function bodyOf({ model, traits, config }: Case, told: readonly Told[], rest: Parameters<typeof requestOf>[2] = {}): Parsed {
  const slash = model.indexOf('/')
  const request = requestOf(told, model, { ...rest, config: config ?? {} })
  return familyOf(traits).body(
    { request, target: { provider: model.slice(0, slash), model: model.slice(slash + 1) }, blobs } as never,
    traits,
  ).body
}

const RUNS = Number(process.env['HEADRACE_WIRE_RUNS'] ?? 150)

describe.each(Object.entries(CASES))('a body for %s', (_, each) => {
  it('is accepted by the published rules, whatever was said, by whomever', () => {
    fc.assert(fc.property(conversation, fc.array(fc.constant('Now.'), { maxLength: 1 }), (turns, after) => {
      const told = turns.flat()
      expect(each.rules(bodyOf(each, told, { after }))).toEqual([])
    }), { numRuns: RUNS })
  })

  it('is the same bytes twice', () => {
    fc.assert(fc.property(conversation, (turns) => {
      expect(JSON.stringify(bodyOf(each, turns.flat()))).toBe(JSON.stringify(bodyOf(each, structuredClone(turns.flat()))))
    }), { numRuns: RUNS / 3 })
  })

  it('begins with the one before it, without what was last only, through changes of model and failures', () => {
    fc.assert(fc.property(conversation, (turns) => {
      let before: string[] = []
      for (let length = 1; length <= turns.length; length++) {
        const told = turns.slice(0, length).flat()
        const blocks = blocksOf(each.traits.family, bodyOf(each, told, { after: ['Now.'] }))
        // What stands for the user's word, and `after`, may go again: each is at most one block at the end.
        const own = blocksOf(each.traits.family, bodyOf(each, told))
        expect(blocks.slice(0, before.length)).toEqual(before)
        before = own.at(-1)!.includes(GO_ON) ? own.slice(0, -1) : own
      }
    }), { numRuns: RUNS })
  })
})
