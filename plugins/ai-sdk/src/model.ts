import { ModelError } from '@headrace/agent'
import { type LanguageModel, SPECIFICATIONS, type Specification } from './specification.ts'

/**
 * An AI SDK model, or a function from a model's name to one, as AI SDK providers are; it may be asynchronous, to load a
 * package on first use.
 */
export type ModelSource = LanguageModel | ((modelId: string) => LanguageModel | Promise<LanguageModel>)

/** A model whose specification is known. */
export type KnownModel = LanguageModel & { readonly specificationVersion: Specification }

/**
 * The model of a request.
 *
 * @throws ModelError `invalid` where the source is one model and the request names another: the log would be wrong
 */
export async function modelOf(source: ModelSource, modelId: string): Promise<KnownModel> {
  const model: unknown = typeof source === 'function' ? await source(modelId) : source
  if (!isModel(model)) {
    const version = (model as { specificationVersion?: unknown } | null | undefined)?.specificationVersion
    const found = typeof version === 'string' ? ` of a specification that is known but of ${version}` : ''
    throw invalid(`what was given for ${JSON.stringify(modelId)} is no AI SDK language model${found}; models of AI SDK 5, 6 and 7 are (${SPECIFICATIONS.join(', ')})`)
  }
  if (typeof source !== 'function' && model.modelId !== modelId) {
    const names = `${JSON.stringify(model.modelId)} only, not ${JSON.stringify(modelId)}`
    throw invalid(`the adapter serves the model ${names}; give it a function of the model's name to serve more`)
  }
  return model
}

function isModel(value: unknown): value is KnownModel {
  const model = value as Partial<LanguageModel> | null | undefined
  return SPECIFICATIONS.includes(model?.specificationVersion as Specification) && typeof model?.doStream === 'function'
}

function invalid(message: string): ModelError {
  return new ModelError({ kind: 'invalid', message })
}
