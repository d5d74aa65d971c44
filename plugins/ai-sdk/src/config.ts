import { strict } from '@headrace/config'
import { HeadraceError } from '@headrace/message'
import z from 'schemastery'
import type { ModelSource } from './model.ts'
import type { PackageConfig } from './packages.ts'

/** Config of the plugin. */
export interface Config {
  /**
   * By provider's name: a package, imported on first use; or, in code, an AI SDK model, or a function from a model's
   * name to one.
   */
  readonly models?: Readonly<Record<string, PackageConfig | ModelSource>>
}

export const Config: z<Config> = strict(z.object({
  models: z.dict(z.any()).description('By provider\'s name: { package, create?, options? }; or, in code, an AI SDK model or provider.'),
}))

/** A provider or model that cannot be registered. */
export class AiSdkConfigError extends HeadraceError {
  constructor(problem: string) {
    super('AI_SDK_CONFIG', problem)
  }
}

/** @throws AiSdkConfigError */
export function isPackage(name: string, given: PackageConfig | ModelSource): given is PackageConfig {
  if (typeof given === 'function' || (typeof given === 'object' && given !== null && 'doStream' in given)) return false
  const { package: from, create, options, ...rest } = (given ?? {}) as Partial<PackageConfig>
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw new AiSdkConfigError(`models.${name} has no field ${JSON.stringify(unknown)}; it has package, create, options`)
  if (typeof from !== 'string' || from === '') throw new AiSdkConfigError(`models.${name} names no package; give one such as "@ai-sdk/amazon-bedrock"`)
  if (create !== undefined && typeof create !== 'string') throw new AiSdkConfigError(`models.${name}.create must be a name`)
  if (options !== undefined && (typeof options !== 'object' || options === null)) throw new AiSdkConfigError(`models.${name}.options must be an object`)
  return true
}
