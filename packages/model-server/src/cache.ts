import { createHash } from 'node:crypto'
import { HeadraceError, type Usage } from '@headrace/message'

/** A token, or a stand-in for one: only equality matters. */
export type Token = string | number

/** One request as a cache sees it. Positions are numbers of tokens from the start: `3` is behind the third. */
export interface Prompt {
  readonly tokens: readonly Token[]
  /** What the model answered, where the next request repeats it. Only {@link UnitCache} looks at it. */
  readonly output?: readonly Token[]
  /** Where the client asked for a cache entry, at most four. Only {@link BreakpointCache} looks at them. */
  readonly breakpoints?: readonly number[]
  /** Where content blocks end, for the reach of a breakpoint; without them its reach is not limited. */
  readonly blocks?: readonly number[]
}

/** Tokens. `input` counts the whole prompt; `cached` (read) and `written` (billed as a write) are parts of it. */
export type CacheUse = Omit<Usage, 'output' | 'reasoning'>

/** A provider's prompt cache, simulated; nothing in it ever expires. */
export interface PromptCache {
  /** What a request finds in the cache; it is stored for the requests after it. */
  send(prompt: Prompt): CacheUse
}

/** Breakpoints a provider would refuse. */
export class CacheError extends HeadraceError {
  constructor(problem: string) {
    super('CACHE_BREAKPOINTS', problem)
  }
}

/** Runs requests through a cache, in order. */
export function simulateCache(cache: PromptCache, prompts: Iterable<Prompt>): Simulation {
  const requests = Array.from(prompts, (prompt) => cache.send(prompt))
  const sum = (field: keyof CacheUse) => requests.reduce((total, use) => total + use[field], 0)
  return { requests, total: { input: sum('input'), cached: sum('cached'), written: sum('written') } }
}

/** What a simulated cache would have read and written. */
export interface Simulation {
  readonly requests: readonly CacheUse[]
  readonly total: CacheUse
}

/**
 * Whole blocks of the longest prefix shared with any earlier request: DeepSeek's first rule (blocks of 64 tokens), and near
 * what vLLM and OpenAI do. Writing costs nothing.
 */
export class BlockCache implements PromptCache {
  readonly #size: number
  readonly #minimum: number
  readonly #known = new Set<string>()

  /**
   * @param size tokens a block
   * @param minimum tokens of the shortest prefix that is read; OpenAI: blocks of 128 from 1,024 on
   */
  constructor(size = 64, minimum = 0) {
    this.#size = size
    this.#minimum = minimum
  }

  send({ tokens }: Prompt): CacheUse {
    const ends: number[] = []
    for (let end = this.#size; end <= tokens.length; end += this.#size) ends.push(end)
    const digests = prefixDigests(tokens, ends)
    const miss = digests.findIndex((digest) => !this.#known.has(digest))
    for (const digest of digests) this.#known.add(digest)
    const cached = (miss === -1 ? digests.length : miss) * this.#size
    return { input: tokens.length, cached: cached < this.#minimum ? 0 : cached, written: 0 }
  }
}

/**
 * DeepSeek's present rule (api-docs.deepseek.com/guides/kv_cache): a prefix is read only as a whole unit. Units end where
 * a request ended, where its answer ended, and where a request was seen to part from an earlier one. The units it also cuts
 * at "fixed token intervals" are off unless `interval` is given: it does not say how long they are.
 */
export class UnitCache implements PromptCache {
  readonly #interval: number | undefined
  /** Sequences none of which begins another, each with the ends of its units. */
  #kept: { readonly tokens: readonly Token[]; readonly units: ReadonlySet<number> }[] = []

  /** @param interval tokens between the units cut inside a long prompt */
  constructor(interval?: number) {
    this.#interval = interval
  }

  send({ tokens, output = [] }: Prompt): CacheUse {
    const whole = output.length === 0 ? tokens : [...tokens, ...output]
    const units = new Set([tokens.length, whole.length])
    if (this.#interval !== undefined) for (let end = this.#interval; end < whole.length; end += this.#interval) units.add(end)
    let cached = 0
    let parting = 0
    this.#kept = this.#kept.filter((kept) => {
      const shared = sharedLength(kept.tokens, whole)
      for (const unit of kept.units) {
        if (unit > shared) continue
        units.add(unit)
        if (unit <= tokens.length) cached = Math.max(cached, unit)
      }
      parting = Math.max(parting, Math.min(shared, tokens.length))
      return shared < kept.tokens.length
    })
    if (parting > 0) units.add(parting)
    this.#kept.push({ tokens: whole, units })
    return { input: tokens.length, cached, written: 0 }
  }
}

/** Breakpoints in one request, at most. */
export const MAX_BREAKPOINTS = 4

/**
 * Explicit breakpoints, as Anthropic documents: at most four; each looks back over 20 content blocks, its own included, for
 * a prefix that an earlier request wrote at one of *its* breakpoints; what lies between there and the last breakpoint is
 * written, and billed as such. A prefix shorter than the minimum is neither read nor written, and nobody says so.
 */
export class BreakpointCache implements PromptCache {
  readonly #minimum: number
  readonly #reach: number
  readonly #known = new Set<string>()
  readonly #lengths = new Set<number>()

  constructor({ minimum = 1024, reach = 20 }: { readonly minimum?: number; readonly reach?: number } = {}) {
    this.#minimum = minimum
    this.#reach = reach
  }

  /** @throws CacheError for more than four breakpoints, or one outside the prompt */
  send({ tokens, blocks, breakpoints = [] }: Prompt): CacheUse {
    checkBreakpoints(tokens, breakpoints)
    const marked = breakpoints.filter((end) => end >= this.#minimum)
    const ends = [...new Set([...blocks ?? this.#lengths, ...marked])].filter((end) => end <= tokens.length).sort((a, b) => a - b)
    const digests = prefixDigests(tokens, ends)
    const places = marked.map((end) => ends.indexOf(end))
    const reach = blocks ? this.#reach : Infinity
    const read = Math.max(-1, ...places.map((place) => this.#look(digests, place, reach)))
    const cached = ends[read] ?? 0
    for (const place of places) this.#known.add(digests[place]!)
    for (const end of marked) this.#lengths.add(end)
    return { input: tokens.length, cached, written: Math.max(cached, ...marked) - cached }
  }

  /** The nearest known position at or before one; -1 if none is within reach. */
  #look(digests: readonly string[], place: number, reach: number): number {
    for (let at = place; at >= 0 && at > place - reach; at--) if (this.#known.has(digests[at]!)) return at
    return -1
  }
}

function checkBreakpoints(tokens: readonly Token[], breakpoints: readonly number[]): void {
  if (breakpoints.length > MAX_BREAKPOINTS) {
    throw new CacheError(`a request has ${breakpoints.length} cache breakpoints; at most ${MAX_BREAKPOINTS} are allowed, leave out the earliest`)
  }
  const outside = breakpoints.find((end) => !Number.isInteger(end) || end < 1 || end > tokens.length)
  if (outside !== undefined) throw new CacheError(`a cache breakpoint is at ${outside}; it must be from 1 to ${tokens.length}, the length of the prompt`)
}

/** Digests of the prefixes that end at these positions, given in ascending order. */
function prefixDigests(tokens: readonly Token[], ends: readonly number[]): string[] {
  const hash = createHash('sha256')
  let start = 0
  return ends.map((end) => {
    let text = ''
    for (; start < end; start++) {
      const token = tokens[start]!
      text += typeof token === 'number' ? `#${token};` : `${token.length}:${token}`
    }
    // UTF-16, because a token may end between the halves of a surrogate pair, which UTF-8 cannot tell from one another.
    hash.update(text, 'utf16le')
    return hash.copy().digest('hex')
  })
}

function sharedLength(a: readonly Token[], b: readonly Token[]): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) if (a[index] !== b[index]) return index
  return length
}
