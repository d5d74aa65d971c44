import type { Adapter } from '@headrace/agent'
import type { Context } from 'cordis'
import { aiSdkAdapter } from './adapter.ts'
import { AiSdkConfigError, type Config, isPackage } from './config.ts'
import { packageAdapter } from './packages.ts'

export const name = 'ai-sdk'
export const inject = ['llm']

/** Registers an adapter for each package, model or provider. */
export async function apply(ctx: Context, { models = {} }: Config): Promise<void> {
  const logger = ctx.logger(name)
  const told = new Set<string>()
  for (const [provider, given] of Object.entries(models)) {
    if (provider === '' || provider.includes('/')) {
      throw new AiSdkConfigError(`${JSON.stringify(provider)} cannot name a provider: its name is what stands before the first slash in "provider/model"`)
    }
    const warn = (message: string): void => {
      const line = `${provider}: ${message}`
      if (told.has(line) || told.size > 1000) return
      told.add(line)
      logger.warn('%s', line)
    }
    ctx.llm.adapter(provider, adapterOf(provider, given, warn))
  }
}

function adapterOf(provider: string, given: NonNullable<Config['models']>[string], warn: (message: string) => void): Adapter {
  return isPackage(provider, given) ? packageAdapter(given, warn) : aiSdkAdapter(given, { warn })
}
