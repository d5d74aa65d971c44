import type { StandardSchemaV1 } from '@standard-schema/spec'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { type Json, type JsonObject, copyJson, messageOf } from '@headrace/message'
import { AgentError } from '../contract/error.ts'
import { disown, isObject } from '../seams/guards.ts'
import type { OutputSchema } from '../contract/turn.ts'
import type { ToolDefinition, ToolSchemaLike } from '../contract/tool.ts'
import { timeBoxed } from './time-box.ts'

/** What checks and describes a tool's arguments, made once. */
export interface Parameters {
  /** JSON Schema, as the model is told. */
  readonly schema: JsonObject
  /** The arguments as the tool gets them. @throws AgentError that says what does not fit */
  parse(input: unknown): unknown
}

// A large definition that is inlined wherever it is referred to would become code of many megabytes.
const OPTIONS = { strict: false, allErrors: true, validateFormats: false, logger: false, inlineRefs: 20 } as const
const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
/** Keywords that can make a check exponential or quadratic, whoever wrote the schema and the value. */
const SLOW = /"(?:pattern|patternProperties|\$ref|\$dynamicRef|uniqueItems)":/
/** Milliseconds that such a check may take. */
const MAX_CHECK = 250
/** Validates schemas, and compiles none. */
const judge = new Ajv2020(OPTIONS)

/** @throws AgentError where the schema is neither a Standard Schema with JSON Schema nor JSON Schema of an object */
export function toParameters(tool: string, parameters: ToolDefinition['parameters']): Parameters {
  return isStandard(parameters) ? fromStandard(`tool ${tool}`, parameters, objectSchema) : fromJsonSchema(`tool ${tool}`, parameters, objectSchema)
}

/** As {@link toParameters}, of any value: what the answer to a prompt must be. @throws AgentError */
export function toOutputSchema(output: OutputSchema): Parameters {
  const at = 'output of a prompt'
  if (!isObject(output)) throw new AgentError('OUTPUT_SCHEMA_INVALID', `${at} must be a Zod schema, or JSON Schema such as { type: 'object' }`)
  const whole = (where: string, schema: JsonObject): JsonObject => copyJson(schema, where)
  return isStandard(output) ? fromStandard(at, output, whole) : fromJsonSchema(at, output, whole)
}

/** As {@link toParameters}, of JSON Schema of any value: what a question wants for an answer. @throws AgentError */
export function toAnswerSchema(schema: JsonObject): Parameters {
  const at = 'schema of a question'
  if (!isObject(schema)) throw new AgentError('QUESTION_INVALID', `${at} must be JSON Schema such as { type: 'string' }`)
  return fromJsonSchema(at, schema, (where, given) => copyJson(given, where))
}

type Whole = (at: string, schema: JsonObject) => JsonObject

function isStandard(parameters: object): parameters is ToolSchemaLike {
  return '~standard' in parameters
}

function fromStandard(at: string, standard: ToolSchemaLike, whole: Whole): Parameters {
  const props = standard['~standard']
  if (!props.jsonSchema) throw new AgentError('TOOL_INVALID', `${at}: its ${props.vendor} schema cannot give JSON Schema; use Zod 4.2 or newer, or give plain JSON Schema`)
  const { $schema: _draft, ...schema } = props.jsonSchema.input({ target: 'draft-2020-12' })
  return {
    schema: whole(at, schema as JsonObject),
    parse(input) {
      const result = props.validate(input) as StandardSchemaV1.Result<unknown>
      disown(result)
      if (result instanceof Promise) throw new AgentError('TOOL_INVALID', `${at}: its schema is asynchronous`)
      if (result.issues) throw new AgentError('ARGUMENTS_INVALID', result.issues.map((issue) => `${pathOf(issue.path)}${issue.message}`).join('; '))
      return result.value
    },
  }
}

function pathOf(path: StandardSchemaV1.Issue['path']): string {
  if (!path || path.length === 0) return ''
  return `${path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')}: `
}

function fromJsonSchema(at: string, parameters: JsonObject, whole: Whole): Parameters {
  const schema = whole(at, parameters)
  let check: ValidateFunction
  try {
    check = compile(structuredClone(schema))
  } catch (error) {
    throw new AgentError('TOOL_INVALID', `${at}: its JSON Schema is wrong: ${messageOf(error)}`, { cause: error })
  }
  const isBounded = SLOW.test(JSON.stringify(schema))
  return {
    schema,
    parse(input) {
      if (isBounded ? inTime(() => check(input)) : check(input)) return input
      throw new AgentError('ARGUMENTS_INVALID', (check.errors ?? []).slice(0, 8).map(problemOf).join('; '))
    },
  }
}

/** @throws AgentError where it takes too long */
function inTime(check: () => boolean): boolean {
  try {
    return timeBoxed(check, MAX_CHECK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    throw new AgentError('ARGUMENTS_INVALID', 'it could not be checked: its schema takes too long for this value', { cause: error })
  }
}

/** Of `enum`, `const`, and the keywords that refuse a property. */
interface ProblemParams {
  readonly allowedValues?: readonly Json[]
  readonly allowedValue?: Json
  readonly additionalProperty?: string
  readonly unevaluatedProperty?: string
  readonly propertyName?: string
}

/** What an argument must be. ajv's own sentences leave out what a model needs to know: the values of an enum, the name of a property. */
function problemOf({ instancePath, message = 'is wrong', params }: ErrorObject): string {
  const at = instancePath.slice(1).replaceAll('/', '.') || 'it'
  const { allowedValues, allowedValue, ...rest } = params as ProblemParams
  if (allowedValues) return `${at} must be one of: ${listOf(allowedValues)}`
  if (allowedValue !== undefined) return `${at} must be ${shown(allowedValue)}`
  const property = rest.additionalProperty ?? rest.unevaluatedProperty ?? rest.propertyName
  return `${at} ${message}${property === undefined ? '' : ` (${property})`}`
}

const MAX_VALUES = 50

function listOf(values: readonly Json[]): string {
  const more = values.length - MAX_VALUES
  return `${values.slice(0, MAX_VALUES).map(shown).join(', ')}${more > 0 ? `, and ${more} more` : ''}`
}

/** A word stands as it is; what could be read as two values, or as no text, as JSON. */
function shown(value: Json): string {
  return typeof value === 'string' && /^(?!(?:true|false|null)$)[\p{L}_][\p{L}\p{N}_./:-]*$/u.test(value) ? value : JSON.stringify(value)
}

/** @throws Error for a schema that is wrong, or whose check would come later */
function compile(schema: JsonObject): ValidateFunction {
  const { $schema = DIALECT, $async } = schema
  if ($async !== undefined) throw new TypeError('it has $async, and arguments are checked at once')
  // A schema of an older draft, which many servers send, is accepted where its keywords are known.
  if ($schema === DIALECT) void judge.validateSchema(schema, true)
  // A shared instance would keep compiled schemas, and their `$id`, of unloaded plugins.
  return new Ajv2020({ ...OPTIONS, validateSchema: false }).compile(schema)
}

function objectSchema(at: string, schema: JsonObject): JsonObject {
  if (!isObject(schema) || (schema.type !== undefined && schema.type !== 'object')) throw new AgentError('TOOL_INVALID', `${at}: its parameters must be the schema of an object`)
  return copyJson(schema.type === undefined ? { type: 'object', ...schema } : schema, at)
}
