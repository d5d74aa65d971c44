import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type JsonObject, copyJson } from '@headrace/message'
import type { ToolSchemaLike } from '@headrace/agent'

const OPTIONS = { strict: false, validateFormats: false, logger: false } as const
/** Characters of a schema's JSON. */
const MAX_SCHEMA = 50_000
const MAX_REFERENCES = 1_000
/** Keywords whose values are not schemas. */
const VALUES: readonly string[] = ['const', 'enum', 'default', 'examples']

let judges: { readonly newest: Ajv2020; readonly older: Ajv } | undefined

/**
 * The schema of a tool's arguments, as it came. A schema that would make providers refuse the whole request is refused
 * here.
 *
 * @throws TypeError, JsonError
 */
export function checkInputSchema(given: unknown): JsonObject {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new TypeError('its schema is no object')
  const { $schema, ...rest } = copyJson(given as JsonObject)
  if (rest.type !== undefined && rest.type !== 'object') throw new TypeError('its schema is not that of an object')
  const schema: JsonObject = rest.type === undefined ? { type: 'object', ...rest } : rest
  if (JSON.stringify(schema).length > MAX_SCHEMA) throw new TypeError(`its schema has more than ${MAX_SCHEMA} characters`)
  judges ??= { newest: new Ajv2020(OPTIONS), older: new Ajv(OPTIONS) }
  const judge = typeof $schema === 'string' && /draft-0[3-7]/.test($schema) ? judges.older : judges.newest
  if (judge.validateSchema(structuredClone(schema)) !== true) throw new TypeError(`its schema is none: ${judge.errorsText(judge.errors, { dataVar: 'schema' })}`)
  checkParts(schema)
  return schema
}

/** A meta-schema does not find dangling references and invalid patterns. @throws TypeError, SyntaxError */
function checkParts(schema: JsonObject): void {
  let references = 0
  const visit = (part: unknown): void => {
    if (Array.isArray(part)) return part.forEach(visit)
    if (typeof part !== 'object' || part === null) return
    const { $ref, pattern } = part as Readonly<Record<string, unknown>>
    if (typeof $ref === 'string' && (++references > MAX_REFERENCES || !leadsInside(schema, $ref))) throw new TypeError('its schema refers to what it does not have')
    if (typeof pattern === 'string') void new RegExp(pattern, 'u')
    for (const [key, item] of Object.entries(part)) if (!VALUES.includes(key)) visit(item)
  }
  visit(schema)
}

function leadsInside(schema: JsonObject, reference: string): boolean {
  if (!reference.startsWith('#')) return false
  if (!reference.startsWith('#/')) return reference === '#' || JSON.stringify(schema).includes(`"$anchor":${JSON.stringify(reference.slice(1))}`)
  const path = decodeURIComponent(reference.slice(2)).split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  let at: unknown = schema
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return false
    at = (at as Readonly<Record<string, unknown>>)[part]
  }
  return typeof at === 'object' || typeof at === 'boolean'
}

/** Parameters that the server checks itself: its patterns never run in this process. */
export function parametersOf(schema: JsonObject): ToolSchemaLike<JsonObject> {
  const input = (): Record<string, unknown> => schema
  return {
    '~standard': { version: 1, vendor: 'mcp', validate: (value) => ({ value: value as JsonObject }), jsonSchema: { input, output: input } },
  }
}
