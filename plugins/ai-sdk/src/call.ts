import type { LanguageModelV3CallOptions, LanguageModelV3FunctionTool, SharedV3ProviderOptions } from '@ai-sdk/provider'
import { type CallConfig, type JsonObject, type ToolSchema, defined } from '@headrace/message'

/** Everything of a call but its prompt, signal and headers. */
export function toCall(
  config: CallConfig,
  tools: readonly ToolSchema[] | undefined,
  providerOptions: SharedV3ProviderOptions | undefined,
): Omit<LanguageModelV3CallOptions, 'prompt'> {
  const { temperature, topP, maxOutputTokens, stop } = config
  return defined({
    temperature,
    topP,
    maxOutputTokens,
    stopSequences: stop === undefined ? undefined : [...stop],
    tools: tools?.map(toTool),
    providerOptions,
  })
}

function toTool({ name, description, parameters }: ToolSchema): LanguageModelV3FunctionTool {
  return { type: 'function', name, description, inputSchema: parameters }
}

/** Where the providers of the AI SDK take a reasoning effort; the others call it `reasoningEffort`. */
const EFFORT: Readonly<Record<string, (effort: string) => JsonObject>> = {
  anthropic: (effort) => ({ effort }),
  google: (effort) => ({ thinkingConfig: { thinkingLevel: effort } }),
}

/** `config.providerOptions`, by provider as in the AI SDK, with the reasoning effort where this provider looks for it. */
export function providerOptions(config: CallConfig, provider: string): SharedV3ProviderOptions | undefined {
  const given = config.providerOptions as SharedV3ProviderOptions | undefined
  if (config.reasoningEffort === undefined) return given
  const [key = provider] = provider.split('.')
  const effort = Object.hasOwn(EFFORT, key) ? EFFORT[key]!(config.reasoningEffort) : { reasoningEffort: config.reasoningEffort }
  return { ...given, [key]: { ...effort, ...given?.[key] } as SharedV3ProviderOptions[string] }
}
