import type { ModelInfo, ModelTable, Rates } from './models.ts'

/**
 * The date of the newest row. Each group below says where its rates come from and what was not checked: check a row
 * before you bill by it, and put your own in front of it (`models` of `@headrace/agent`).
 */
export const MODELS_AS_OF = '2026-10-24'

/** Writing to the cache costs nothing extra unless it is given: those rates are the input's. */
function rates(input: number, output: number, cached = input, written = input): Rates {
  return { input, cached, written, output }
}

/** Anthropic: a write costs a quarter more than fresh input (for five minutes), a read a tenth of it, or less. */
function claude(context: number, output: number, input: number, answer: number, read = 0.1): ModelInfo {
  return { context, output, rates: rates(input, answer, input * read, input * 1.25) }
}

function gpt(context: number, output: number, input: number, answer: number, cached: number, more: Partial<ModelInfo> = {}): ModelInfo {
  return { context, output, rates: rates(input, answer, cached), ...more }
}

/** OpenAI: from 272,000 tokens on twice the input, and one and a half times the output. */
function long(input: number, answer: number, written = input): Pick<ModelInfo, 'above'> {
  return { above: [{ tokens: 272_000, rates: rates(input * 2, answer * 1.5, input / 5, written * 2) }] }
}

/** Known models. An app replaces them, or puts rows of its own in front: `models` and `knownModels` of `@headrace/agent`. */
export const MODELS: ModelTable = Object.freeze({
  // platform.claude.com/docs/en/about-claude/pricing and …/models, read in copies of October 2026. The tier of Sonnet 4.5 is from memory.
  'anthropic/claude-3-5-haiku': claude(200_000, 8_192, 0.8, 4),
  'anthropic/claude-3-7-sonnet': claude(200_000, 64_000, 3, 15),
  'anthropic/claude-sonnet-4': claude(200_000, 64_000, 3, 15),
  'anthropic/claude-opus-4': claude(200_000, 32_000, 15, 75),
  'anthropic/claude-opus-4-1': claude(200_000, 32_000, 15, 75),
  'anthropic/claude-haiku-4-5': claude(200_000, 64_000, 1, 5),
  'anthropic/claude-sonnet-4-5': { ...claude(200_000, 64_000, 3, 15), above: [{ tokens: 200_000, rates: rates(6, 22.5, 0.6, 7.5) }] },
  'anthropic/claude-opus-4-5': claude(200_000, 64_000, 5, 25),
  'anthropic/claude-sonnet-4-6': claude(1_000_000, 64_000, 3, 15),
  'anthropic/claude-opus-4-6': claude(1_000_000, 128_000, 5, 25),
  'anthropic/claude-opus-4-7': claude(1_000_000, 128_000, 5, 25),
  'anthropic/claude-opus-4-8': claude(1_000_000, 128_000, 5, 25),
  'anthropic/claude-sonnet-5': claude(1_000_000, 128_000, 2, 10),
  'anthropic/claude-opus-5': claude(1_000_000, 128_000, 5, 25),
  'anthropic/claude-fable-5': claude(1_000_000, 128_000, 10, 50),
  'anthropic/claude-sonnet-5-5': claude(1_000_000, 128_000, 2, 10, 0.05),
  'anthropic/claude-opus-5-5': claude(1_000_000, 128_000, 4, 20, 0.05),
  'anthropic/claude-fable-5-1': claude(1_000_000, 128_000, 10, 50, 0.025),
  'anthropic/claude-haiku-5-5': { ...claude(1_000_000, 128_000, 0.1, 0.5), above: [{ tokens: 100_000, rates: rates(0.5, 2.5, 0.05, 0.625) }] },

  // developers.openai.com/api/docs/pricing, by what libraries of March to June 2026 quote of it: GPT-4o, 4.1, 5, 5.4 and 5.4 mini.
  // The page itself was not at hand; the o models, codex, 5.2, 5.4 nano, 5.5, 5.6 and the tiers are from memory.
  'openai/gpt-4o': gpt(128_000, 16_384, 2.5, 10, 1.25),
  'openai/gpt-4o-mini': gpt(128_000, 16_384, 0.15, 0.6, 0.075),
  'openai/gpt-4.1': gpt(1_047_576, 32_768, 2, 8, 0.5),
  'openai/gpt-4.1-mini': gpt(1_047_576, 32_768, 0.4, 1.6, 0.1),
  'openai/gpt-4.1-nano': gpt(1_047_576, 32_768, 0.1, 0.4, 0.025),
  'openai/o3': gpt(200_000, 100_000, 2, 8, 0.5),
  'openai/o3-mini': gpt(200_000, 100_000, 1.1, 4.4, 0.55, { images: false }),
  'openai/o4-mini': gpt(200_000, 100_000, 1.1, 4.4, 0.275),
  'openai/gpt-5': gpt(400_000, 128_000, 1.25, 10, 0.125),
  'openai/gpt-5-mini': gpt(400_000, 128_000, 0.25, 2, 0.025),
  'openai/gpt-5-nano': gpt(400_000, 128_000, 0.05, 0.4, 0.005),
  'openai/gpt-5-codex': gpt(400_000, 128_000, 1.25, 10, 0.125),
  'openai/gpt-5.1': gpt(400_000, 128_000, 1.25, 10, 0.125),
  'openai/gpt-5.1-codex': gpt(400_000, 128_000, 1.25, 10, 0.125),
  'openai/gpt-5.1-codex-mini': gpt(400_000, 128_000, 0.25, 2, 0.025),
  'openai/gpt-5.2': gpt(400_000, 128_000, 1.75, 14, 0.175),
  'openai/gpt-5.2-codex': gpt(400_000, 128_000, 1.75, 14, 0.175),
  'openai/gpt-5.3-codex': gpt(400_000, 128_000, 1.75, 14, 0.175),
  'openai/gpt-5.4': gpt(1_050_000, 128_000, 2.5, 15, 0.25, long(2.5, 15)),
  'openai/gpt-5.4-mini': gpt(400_000, 128_000, 0.75, 4.5, 0.075),
  'openai/gpt-5.4-nano': gpt(400_000, 128_000, 0.2, 1.25, 0.02),
  'openai/gpt-5.5': gpt(1_050_000, 128_000, 5, 30, 0.5, long(5, 30)),
  'openai/gpt-5.6': { context: 1_050_000, output: 128_000, rates: rates(5, 30, 0.5, 6.25), ...long(5, 30, 6.25) },

  // ai.google.dev/gemini-api/docs/pricing, by pages of January to June 2026 that quote it; the cached rates are a tenth ("90 % discount").
  'google/gemini-2.5-flash-lite': { context: 1_048_576, output: 65_536, rates: rates(0.1, 0.4, 0.01) },
  'google/gemini-2.5-flash': { context: 1_048_576, output: 65_536, rates: rates(0.3, 2.5, 0.03) },
  'google/gemini-2.5-pro': { context: 1_048_576, output: 65_536, rates: rates(1.25, 10, 0.125), above: [{ tokens: 200_000, rates: rates(2.5, 15, 0.25) }] },
  'google/gemini-3-flash': { context: 1_048_576, output: 65_536, rates: rates(0.5, 3, 0.05) },
  'google/gemini-3-pro': { context: 1_048_576, output: 65_536, rates: rates(2, 12, 0.2), above: [{ tokens: 200_000, rates: rates(4, 18, 0.4) }] },
  'google/gemini-3.1-pro': { context: 1_048_576, output: 65_536, rates: rates(2, 12, 0.2), above: [{ tokens: 200_000, rates: rates(4, 18, 0.4) }] },

  // api-docs.deepseek.com/quick_start/pricing, in a copy of October 2026: rates of peak hours (01:00 to 04:00 and 06:00 to 10:00 UTC on
  // working days of China); half is billed at other times. deepseek-v4-flash is served and billed as deepseek-flash. The names
  // deepseek-chat and deepseek-reasoner ended on 24 July 2026.
  'deepseek/deepseek-flash': { context: 1_000_000, output: 384_000, rates: rates(0.3, 1.2, 0.006) },
  'deepseek/deepseek-v4-flash': { context: 1_000_000, output: 384_000, rates: rates(0.3, 1.2, 0.006) },
  'deepseek/deepseek-v4-pro': { context: 1_000_000, output: 384_000, rates: rates(1.32, 3.96, 0.044), images: false },
  // platform.moonshot.ai, docs.x.ai: windows from memory; prices are not known here.
  'moonshot/kimi-k2-thinking': { context: 262_144, images: false },
  'moonshot/kimi-k2-turbo': { context: 262_144, images: false },
  'moonshotai/kimi-k2': { context: 262_144, images: false },
  'xai/grok-4': { context: 256_000 },
  'xai/grok-4-fast': { context: 2_000_000 },
  'xai/grok-code-fast-1': { context: 256_000, images: false },
})
