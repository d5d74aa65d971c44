import { Problem, invalid } from './problem.ts'

/** A request's body as a JSON object with no other fields than these. @throws Problem */
export async function fieldsOf(request: Request, maxBody: number, fields: readonly string[]): Promise<Record<string, unknown>> {
  return checked(await jsonOf(request, maxBody), fields)
}

/** The same, of a request that may have no body. @throws Problem */
export async function fieldsIfAny(request: Request, maxBody: number, fields: readonly string[]): Promise<Record<string, unknown>> {
  const bytes = await bytesOf(request, maxBody)
  if (bytes.length === 0) return {}
  checkType(request)
  return checked(parse(bytes), fields)
}

function checked(body: unknown, fields: readonly string[]): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalid('the body must be a JSON object')
  const unknown = Object.keys(body).find((key) => !fields.includes(key))
  if (unknown !== undefined) throw invalid(`the body has a field that is not known; it may have ${fields.join(', ')}`)
  return body as Record<string, unknown>
}

/** A request's body as JSON. @throws Problem */
export async function jsonOf(request: Request, maxBody: number): Promise<unknown> {
  checkType(request)
  return parse(await bytesOf(request, maxBody))
}

/** Another type is what a form of a foreign page can send without a preflight. */
function checkType(request: Request): void {
  const [type] = (request.headers.get('content-type') ?? '').split(';')
  if (type!.trim().toLowerCase() !== 'application/json') throw new Problem(415, 'NOT_JSON', 'send the body as application/json')
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw invalid('the body is no JSON in UTF-8')
  }
}

/** The body, up to a limit; `content-length` is not trusted. */
async function bytesOf(request: Request, most: number): Promise<Buffer> {
  const large = (): Problem => new Problem(413, 'BODY_LARGE', `a body has up to ${most} bytes`)
  if (Number(request.headers.get('content-length')) > most) throw large()
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.byteLength
    if (size > most) throw large()
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** A text that a prompt may be. @throws Problem */
export function promptText(value: unknown, maxPrompt: number): string {
  if (typeof value !== 'string') throw invalid('the prompt must be a text')
  if (value.length > maxPrompt) throw new Problem(413, 'PROMPT_LARGE', `a prompt has up to ${maxPrompt} characters`)
  if (!value.isWellFormed()) throw invalid('the prompt has half of a surrogate pair')
  if (value.trim() === '') throw new Problem(400, 'PROMPT_EMPTY', 'the prompt is empty')
  return value
}

/** An optional text of up to so many characters. @throws Problem */
export function textField(fields: Record<string, unknown>, name: string, most = 200): string | undefined {
  const value = fields[name]
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value.length > most || !value.isWellFormed()) throw invalid(`${name} must be a text of up to ${most} characters`)
  return value
}

/** An optional whole number. @throws Problem */
export function numberField(fields: Record<string, unknown>, name: string): number | undefined {
  const value = fields[name]
  if (value === undefined) return undefined
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw invalid(`${name} must be a whole number`)
  return value as number
}

/** The `Idempotency-Key` of a request. @throws Problem */
export function keyOf(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key') ?? undefined
  if (key !== undefined && !/^[\x21-\x7e]{1,200}$/.test(key)) throw invalid('Idempotency-Key must be 1 to 200 visible ASCII characters')
  return key
}
