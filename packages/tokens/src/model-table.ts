import type { ModelInfo, ModelTable, Rates } from './models.ts'

/**
 * The date that the rows are meant for. They were written down from what was known of the providers' price pages
 * then, and not each was held against its page: check a row before you bill by it, and put your own in front of it
 * (`modelInfo(model, { ...mine, ...MODELS })`). Pages: platform.claude.com/docs/models,
 * developers.openai.com/api/docs/pricing, ai.google.dev/gemini-api/docs/pricing, api-docs.deepseek.com,
 * platform.moonshot.ai, docs.x.ai.
 */
export const MODELS_AS_OF = '2026-07-24'

/** Writing to the cache costs nothing extra unless it is given: those rates are the input's. */
function rates(input: number, output: number, cached = input, written = input): Rates {
  return { input, cached, written, output }
}

/** Anthropic: a write costs a quarter more than fresh input (for five minutes), a read a tenth of it. */
function claude(context: number, output: number, input: number, answer: number): ModelInfo {
  return { context, output, rates: rates(input, answer, input / 10, input * 1.25) }
}

function gpt(context: number, output: number, input: number, answer: number, cached: number, more: Partial<ModelInfo> = {}): ModelInfo {
  return { context, output, rates: rates(input, answer, cached), ...more }
}

/** OpenAI: from 272,000 tokens on twice the input, and one and a half times the output. */
function long(input: number, answer: number, written = input): Pick<ModelInfo, 'above'> {
  return { above: [{ tokens: 272_000, rates: rates(input * 2, answer * 1.5, input / 5, written * 2) }] }
}

/** Known models. An app replaces it, or puts rows of its own in front. */
export const MODELS: ModelTable = Object.freeze({
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
  'anthropic/claude-sonnet-5-5': claude(1_000_000, 128_000, 2, 10),
  'anthropic/claude-opus-5-5': claude(1_000_000, 128_000, 4, 20),
  'anthropic/claude-fable-5-1': claude(1_000_000, 128_000, 10, 50),
  'anthropic/claude-haiku-5-5': { context: 1_000_000, output: 128_000 },

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

  'google/gemini-2.5-flash-lite': { context: 1_048_576, output: 65_536, rates: rates(0.1, 0.4, 0.01) },
  'google/gemini-2.5-flash': { context: 1_048_576, output: 65_536, rates: rates(0.3, 2.5, 0.03) },
  'google/gemini-2.5-pro': { context: 1_048_576, output: 65_536, rates: rates(1.25, 10, 0.125), above: [{ tokens: 200_000, rates: rates(2.5, 15, 0.25) }] },
  'google/gemini-3-pro': { context: 1_048_576, output: 65_536, rates: rates(2, 12, 0.2), above: [{ tokens: 200_000, rates: rates(4, 18, 0.4) }] },

  // Windows are known, prices change from month to month.
  'deepseek/deepseek-chat': { context: 131_072, output: 8_192, rates: rates(0.28, 0.42, 0.028), images: false },
  'deepseek/deepseek-reasoner': { context: 131_072, output: 65_536, rates: rates(0.28, 0.42, 0.028), images: false },
  'moonshot/kimi-k2-thinking': { context: 262_144, images: false },
  'moonshot/kimi-k2-turbo': { context: 262_144, images: false },
  'moonshotai/kimi-k2': { context: 262_144, images: false },
  'xai/grok-4': { context: 256_000 },
  'xai/grok-4-fast': { context: 2_000_000 },
  'xai/grok-code-fast-1': { context: 256_000, images: false },
})
