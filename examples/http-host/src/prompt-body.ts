import type { Config } from './config.ts'
import { Problem } from './problem.ts'

/** The prompt in a request's body: `{ "prompt": "…" }` and nothing else. @throws Problem */
export async function promptIn(request: Request, { maxBody, maxPrompt }: Pick<Config, 'maxBody' | 'maxPrompt'>): Promise<string> {
  const [type] = (request.headers.get('content-type') ?? '').split(';')
  if (type!.trim().toLowerCase() !== 'application/json') throw new Problem(415, 'NOT_JSON', 'send the prompt as application/json')
  const body = parse(await read(request, maxBody))
  const keys = typeof body === 'object' && body !== null ? Object.keys(body) : []
  const prompt = keys.length === 1 ? (body as { readonly prompt?: unknown }).prompt : undefined
  if (typeof prompt !== 'string') throw new Problem(400, 'BODY_INVALID', 'the body must be { "prompt": "…" }')
  if (prompt.length > maxPrompt) throw new Problem(413, 'PROMPT_LARGE', `a prompt has up to ${maxPrompt} characters`)
  if (!prompt.isWellFormed()) throw new Problem(400, 'BODY_INVALID', 'the prompt has half of a surrogate pair')
  if (prompt.trim() === '') throw new Problem(400, 'PROMPT_EMPTY', 'the prompt is empty')
  return prompt
}

/** The body, up to a limit; `content-length` is not trusted. */
async function read(request: Request, most: number): Promise<Buffer> {
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

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new Problem(400, 'BODY_INVALID', 'the body is no JSON in UTF-8')
  }
}
