import type { LanguageModelV3 } from '@ai-sdk/provider'
import { ModelError } from '@headrace/agent'

/** An AI SDK model, or what gives one for a model's name, as AI SDK providers do; it may take its time, to load a package on first use. */
export type ModelSource = LanguageModelV3 | ((modelId: string) => LanguageModelV3 | Promise<LanguageModelV3>)

/**
 * The model of a request.
 *
 * @throws ModelError `invalid` where the source is one model and the request names another: the log would tell what was not so
 */
export async function modelOf(source: ModelSource, modelId: string): Promise<LanguageModelV3> {
  const model = typeof source === 'function' ? await source(modelId) : source
  if (!isModel(model)) {
    const version = (model as { specificationVersion?: unknown } | null | undefined)?.specificationVersion
    const found = typeof version === 'string' ? ` but of ${version}` : ''
    throw invalid(`what was given for ${JSON.stringify(modelId)} is no AI SDK model of version v3${found}; use packages on @ai-sdk/provider 3`)
  }
  if (typeof source !== 'function' && model.modelId !== modelId) {
    const names = `${JSON.stringify(model.modelId)} only, not ${JSON.stringify(modelId)}`
    throw invalid(`the adapter serves the model ${names}; give it a function of the model's name to serve more`)
  }
  return model
}

function isModel(value: unknown): value is LanguageModelV3 {
  const model = value as Partial<LanguageModelV3> | null | undefined
  return model?.specificationVersion === 'v3' && typeof model.doStream === 'function'
}

function invalid(message: string): ModelError {
  return new ModelError({ kind: 'invalid', message })
}
