import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Adapter, ModelError } from '@headrace/agent'
import { messageOf } from '@headrace/message'
import { aiSdkAdapter } from './adapter.ts'
import { wireFetch } from './outgoing.ts'

/** A provider's package, imported when it is used. */
export interface PackageConfig {
  /** e.g. `@ai-sdk/amazon-bedrock` */
  readonly package: string
  /** Its function that makes a provider. Default: the one whose name begins with `create`. */
  readonly create?: string
  /** The argument of that function, e.g. `{ region: 'eu-central-1' }`. */
  readonly options?: Readonly<Record<string, unknown>>
}

/** A loaded package: its model factory, name and version. */
interface Loaded {
  readonly model: (id: string) => never
  readonly name: string
  readonly version: string
}

/** The adapter of a package that is imported with the first request. */
export function packageAdapter(config: PackageConfig, warn?: (message: string) => void): Adapter {
  let loading: Promise<Loaded> | undefined
  // A failed import is tried again: the package may be installed by then.
  const loaded = (): Promise<Loaded> => (loading ??= load(config).catch((error: unknown) => {
    loading = undefined
    throw error
  }))
  const secrets = Object.entries(config.options ?? {}).flatMap(([key, value]) => typeof value === 'string' && /key|token|secret|password/i.test(key) ? [value] : [])
  return aiSdkAdapter(async (id) => (await loaded()).model(id), {
    secrets: () => secrets,
    package: async () => {
      const { name, version } = await loaded()
      return { name, version }
    },
    ...(warn && { warn }),
  })
}

/** Majors of providers' packages for AI SDK 6, the newest that runs on a Node before 22; where none stands here it is 3. */
const MAJORS: Readonly<Record<string, number>> = { 'amazon-bedrock': 4, 'google-vertex': 4, deepseek: 2, togetherai: 2, fireworks: 2, cerebras: 2, 'openai-compatible': 2 }

/** The command that installs a package in a version that runs on this Node. */
export function installLine(name: string, node = process.versions.node): string {
  const [, own] = /^@ai-sdk\/(.+)$/.exec(name) ?? []
  return own === undefined || Number(node.split('.')[0]) >= 22 ? `npm i ${name}` : `npm i ${name}@${MAJORS[own] ?? 3}`
}

async function load({ package: name, create, options = {} }: PackageConfig): Promise<Loaded> {
  const { exports, version } = await imported(name)
  const key = create ?? Object.keys(exports).find((key) => /^create[A-Z]/.test(key) && typeof exports[key] === 'function')
  const make = key === undefined ? undefined : exports[key]
  if (typeof make !== 'function') throw invalid(`the package ${name} has no function ${key ?? 'create…'} that makes a provider; name it as create`)
  const provider: unknown = (make as (options: object) => unknown)({ fetch: wireFetch, ...options })
  if (typeof provider !== 'function') throw invalid(`${key} of ${name} made ${typeof provider}, not a provider of models`)
  return { model: provider as Loaded['model'], name, version }
}

/** Resolved from the app's folder, else from ours. */
async function imported(name: string): Promise<{ readonly exports: Readonly<Record<string, unknown>>; readonly version: string }> {
  const require = createRequire(join(process.cwd(), 'package.json'))
  let reason: unknown
  for (const find of [() => pathToFileURL(require.resolve(name)).href, () => name]) {
    try {
      return { exports: await import(find()) as Record<string, unknown>, version: versionOf(name, require) }
    } catch (error) {
      reason ??= error
      if (!/MODULE_NOT_FOUND|PATH_NOT_EXPORTED/.test(String((error as NodeJS.ErrnoException).code))) throw invalid(`the package ${name} cannot be loaded: ${messageOf(error)}`)
    }
  }
  throw invalid(`the package ${name} is not installed: ${installLine(name)}`)
}

function versionOf(name: string, require: NodeJS.Require): string {
  for (const from of [require, createRequire(import.meta.url)]) {
    try {
      return (from(`${name}/package.json`) as { version: string }).version
    } catch {
      // Not there, or not told.
    }
  }
  return 'unknown'
}

function invalid(message: string): ModelError {
  return new ModelError({ kind: 'invalid', message })
}
