import { type CallConfig, type JsonObject, type ToolSchema, defined } from '@headrace/message'
import { toolName } from '@headrace/wire'
import type { Call } from './specification.ts'

/** Everything of a call but its prompt, signal and headers. */
export function toCall(config: CallConfig, tools: readonly ToolSchema[] | undefined, providerOptions: JsonObject | undefined): Omit<Call, 'prompt'> {
  const { temperature, topP, maxOutputTokens, stop, output } = config
  return defined({
    temperature,
    topP,
    maxOutputTokens,
    stopSequences: stop === undefined ? undefined : [...stop],
    tools: tools?.map(({ name, description, parameters }) => ({ type: 'function', name: toolName(name), description, inputSchema: parameters })),
    responseFormat: output === undefined ? undefined : { type: 'json', schema: output, name: 'output' },
    providerOptions,
  })
}

/** The option for the reasoning effort of each AI SDK provider; the others call it `reasoningEffort`. */
const EFFORT: Readonly<Record<string, (effort: string) => JsonObject>> = {
  anthropic: (effort) => ({ effort }),
  google: (effort) => ({ thinkingConfig: { thinkingLevel: effort } }),
}

/**
 * `config.providerOptions`, by provider as in the AI SDK, with the reasoning effort in the option of this provider.
 * OpenAI's Responses are sent with `store: false`: an answer that is kept there would come back as a reference, and the
 * log would not hold what the model sees (L1).
 */
export function providerOptions(config: CallConfig, provider: string): JsonObject | undefined {
  const given = config.providerOptions as Readonly<Record<string, JsonObject>> | undefined
  const [key = provider, kind] = provider.split('.')
  const { reasoningEffort } = config
  const effort = reasoningEffort === undefined ? {} : Object.hasOwn(EFFORT, key) ? EFFORT[key]!(reasoningEffort) : { reasoningEffort }
  const own: JsonObject = { ...(kind === 'responses' && { store: false }), ...effort }
  if (Object.keys(own).length === 0) return given
  const name = kind === 'responses' ? 'openai' : key
  return { ...given, [name]: { ...own, ...given?.[name] } }
}
