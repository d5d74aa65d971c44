import type { Prompt, Token } from './cache.ts'
import { type Fields, fieldsOf, listOf } from './protocols/blocks.ts'
import { tokensOf } from './tokens.ts'

/** A piece of a body as a provider's template has it, and whether a cache breakpoint stands on it. */
interface Piece {
  readonly value: object
  readonly marked?: boolean
}

/**
 * What a provider's cache sees of a body that was sent: tools, system text, then each (role, block), a line of JSON each, `cache_control`
 * left out. Any of the four protocols.
 *
 * @param path of the request; it tells the protocol
 */
export function sentPrompt(path: string, body: Readonly<Record<string, unknown>>): Prompt {
  const tokens: Token[] = []
  const blocks: number[] = []
  const breakpoints: number[] = []
  for (const { value, marked } of piecesOf(path, body)) {
    for (const token of tokensOf(`${JSON.stringify(value)}\n`)) tokens.push(token)
    blocks.push(tokens.length)
    if (marked) breakpoints.push(tokens.length)
  }
  return { tokens, blocks, ...(breakpoints.length > 0 && { breakpoints }) }
}

function piecesOf(path: string, body: Readonly<Record<string, unknown>>): readonly Piece[] {
  if (/\/messages\b/.test(path)) return anthropicPieces(body)
  if (/\/responses\b/.test(path)) {
    const { tools, instructions, input } = body
    return [...whole(tools), ...(instructions === undefined ? [] : [{ value: { role: 'system', content: instructions } }]), ...whole(input)]
  }
  if (/generateContent/i.test(path)) {
    const declared = listOf(body['tools']).flatMap(({ functionDeclarations: list }) => listOf(list))
    const contents = listOf(body['contents']).flatMap(({ role, parts }) => listOf(parts).map((part) => ({ value: { role, part } })))
    return [...whole(declared), ...whole(listOf(fieldsOf(body['systemInstruction']).parts)), ...contents]
  }
  return [...whole(body['tools']), ...whole(body['messages'])]
}

function whole(list: unknown): Piece[] {
  return listOf(list).map((value) => ({ value }))
}

/** "Cache prefixes are created in the following order: tools, system, then messages." */
function anthropicPieces({ tools, system, messages }: Readonly<Record<string, unknown>>): readonly Piece[] {
  const texts = typeof system === 'string' ? [{ type: 'text', text: system }] : listOf(system)
  const said = listOf(messages).flatMap(({ role, content }) => {
    const list = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
    return list.map((block) => unmarked(block, (rest) => ({ role, block: rest })))
  })
  return [...listOf(tools).map((tool) => unmarked(tool)), ...texts.map((text) => unmarked(text)), ...said]
}

function unmarked({ cache_control: mark, ...rest }: Fields, frame: (rest: object) => object = (same) => same): Piece {
  return { value: frame(rest), marked: mark !== undefined && mark !== null }
}
