import type { TokenCounter } from './counter.ts'
import { plainCounter } from './plain.ts'
import { cutRuns } from './runs.ts'
import { type Encoding, loadTokenizer } from './tokenizer.ts'

/**
 * Counts texts as a model's own tokenizer does, in time linear in their length. Loads the optional package
 * `gpt-tokenizer` when it is called, not before; counters of one encoding share it.
 *
 * Exact for texts without a run of 256 or more letters, signs or spaces; each such run is cut, which may add a token a cut.
 *
 * @throws TokenizerMissingError where the package is not installed
 */
export async function exactCounter(encoding: Encoding = 'o200k_base'): Promise<TokenCounter> {
  const countTokens = await loadTokenizer(encoding)
  return plainCounter(`exact(${encoding})`, (text) => {
    let sum = 0
    for (const piece of cutRuns(text)) sum += countTokens(piece)
    return sum
  })
}
