import { ModelError } from '@headrace/agent'
import { FALLBACK_KEY_ENV } from './providers.ts'

export interface KeySource {
  readonly name: string
  readonly apiKey?: string
  readonly apiKeyEnv?: string
  readonly needsKey: boolean
}

/**
 * The key of an endpoint: the configured one, else that of its variable, else that of `HEADRACE_API_KEY`. Read anew for
 * every request.
 *
 * @throws ModelError `auth` for a missing or malformed key; it names the variable, never the value
 */
export function keyOf({ name, apiKey, apiKeyEnv, needsKey }: KeySource): string | undefined {
  const places: [place: string, key: string | undefined][] = [['apiKey', apiKey]]
  for (const variable of [apiKeyEnv, FALLBACK_KEY_ENV]) if (variable !== undefined) places.push([variable, process.env[variable]])
  for (const [place, value] of places) {
    // A key read from a file often ends with a line break.
    const key = value?.trim() ?? ''
    if (key === '') continue
    if (/^[\x21-\x7e]+$/.test(key)) return key
    throw new ModelError({ kind: 'auth', message: `${place}, the key for ${name}, holds a character that no key has; set it again` })
  }
  if (!needsKey) return undefined
  const variables = apiKeyEnv === undefined ? FALLBACK_KEY_ENV : `${apiKeyEnv} (or ${FALLBACK_KEY_ENV})`
  throw new ModelError({ kind: 'auth', message: `there is no key for ${name}: set ${variables}` })
}
