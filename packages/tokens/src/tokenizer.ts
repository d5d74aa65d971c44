import { HeadraceError, messageOf } from '@headrace/message'

/** Byte-pair encodings: `o200k_base` is that of OpenAI's models since GPT-4o, `cl100k_base` that of GPT-4. */
export type Encoding = 'o200k_base' | 'cl100k_base'

/** The optional package with the encodings is not there. */
export class TokenizerMissingError extends HeadraceError {
  constructor(cause: unknown) {
    super('TOKENIZER_MISSING', `exactCounter() needs the package gpt-tokenizer, which could not be loaded (${messageOf(cause)}); install it (npm install gpt-tokenizer@4) or use heuristicCounter()`, { cause })
  }
}

/** Loads an encoding, a few MB, and returns its count of a text; what looks like a special token is counted as the text it is. */
export async function loadTokenizer(encoding: Encoding): Promise<(text: string) => number> {
  const { countTokens } = await load(encoding)
  const options = { disallowedSpecial: new Set<string>() }
  return (text) => countTokens(text, options)
}

// Two literal specifiers rather than a built one, so that bundlers see them.
async function load(encoding: Encoding) {
  const imports = {
    o200k_base: () => import('gpt-tokenizer/encoding/o200k_base'),
    cl100k_base: () => import('gpt-tokenizer/encoding/cl100k_base'),
  }
  if (!Object.hasOwn(imports, encoding)) {
    throw new HeadraceError('ENCODING_UNKNOWN', `exactCounter(${JSON.stringify(encoding)}): no such encoding; there are ${Object.keys(imports).join(', ')}`)
  }
  try {
    return await imports[encoding]()
  } catch (error) {
    throw new TokenizerMissingError(error)
  }
}
