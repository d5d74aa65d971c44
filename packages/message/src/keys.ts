/** Stands where a key was in a tool's output. No text with it is written to a file: it would put the mark in the place of the key. */
export const KEY_MARK = '[key redacted by headrace]'

/** A shorter text is an ordinary word too often: output must not be torn. */
const SHORTEST = 16
const MOST = 1_000

/** Takes a key out of a text that comes in pieces. */
export interface KeyStream {
  /** What can be shown of the text so far, and was not yet: what may be the beginning of a key waits. */
  push(piece: string): string
  /** The rest, when nothing comes any more. */
  end(): string
}

/**
 * Keys of 16 characters or more, as they stand in texts: whole, in another case, escaped, in base64. Only the whole key is taken out.
 *
 * ```ts
 * const keys = new Keys()
 * keys.add(key)
 * keys.redact(output)
 * ```
 */
export class Keys {
  private readonly known = new Set<string>()
  private readonly forms = new Set<string>()
  /** Beginnings of forms. Made when a stream asks for them. */
  private beginnings: Set<string> | undefined
  private longest = 0

  /** Knows a key from now on. One that is shorter than 16 characters is an ordinary word too often, and left out. */
  add(key: string): void {
    if (key.length < SHORTEST || this.known.has(key) || this.known.size >= MOST) return
    this.known.add(key)
    for (const form of formsOfKey(key)) {
      this.forms.add(lower(form))
      this.longest = Math.max(this.longest, form.length)
    }
    this.beginnings = undefined
  }

  /** How many there are. */
  get size(): number {
    return this.known.size
  }

  /** True where a key stands in a text. */
  has(text: string): boolean {
    return this.places(text).length > 0
  }

  /** The text with the mark where a key was; the same text where none is. */
  redact(text: string): string {
    let [result, end] = ['', 0]
    for (const [start, stop] of this.places(text)) {
      result += text.slice(end, start) + KEY_MARK
      end = stop
    }
    return result + text.slice(end)
  }

  /** A JSON value with all its texts redacted, names of fields too; the same value where there is no key in it. */
  redactJson<T>(value: T): T {
    return this.forms.size === 0 ? value : this.inside(value) as T
  }

  private inside(value: unknown): unknown {
    if (typeof value === 'string') return this.redact(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) {
      const items = value.map((item) => this.inside(item))
      return items.every((item, index) => item === value[index]) ? value : items
    }
    const fields = Object.entries(value).map(([name, item]) => [this.redact(name), this.inside(item), name, item] as const)
    return fields.every(([name, item, oldName, old]) => name === oldName && item === old)
      ? value
      : Object.fromEntries(fields.map(([name, item]) => [name, item]))
  }

  /** Takes keys out of a text that comes in pieces. */
  stream(): KeyStream {
    let waiting = ''
    return {
      push: (piece) => {
        const text = waiting + piece
        const places = this.places(text)
        const from = places.at(-1)?.[1] ?? 0
        const at = this.openAt(text, from, places)
        waiting = text.slice(at)
        return this.redact(text.slice(0, at))
      },
      end: () => {
        const rest = this.redact(waiting)
        waiting = ''
        return rest
      },
    }
  }

  /** Where the last part begins that may become a key, or a longer one. */
  private openAt(text: string, from: number, places: readonly (readonly [number, number])[]): number {
    if (this.forms.size === 0) return text.length
    this.beginnings ??= new Set([...this.forms].flatMap(beginningsOf))
    const folded = lower(text)
    for (let at = Math.max(0, text.length - this.longest + 1); at < text.length; at++) {
      if (!this.beginnings.has(folded.slice(at))) continue
      // One form may begin another: the whole place waits.
      return at >= from ? at : places.find(([start, stop]) => start <= at && at < stop)?.[0] ?? at
    }
    return text.length
  }

  /** Ranges of the text that are keys, in order; what overlaps is one. */
  private places(text: string): readonly (readonly [start: number, end: number])[] {
    if (this.forms.size === 0 || text.length < SHORTEST) return []
    const folded = lower(text)
    const found: [number, number][] = []
    for (const form of this.forms) {
      for (let at = folded.indexOf(form); at >= 0; at = folded.indexOf(form, at + 1)) found.push([at, at + form.length])
    }
    found.sort(([a], [b]) => a - b)
    const ranges: [number, number][] = []
    for (const [start, end] of found) {
      const last = ranges.at(-1)
      if (last && start < last[1]) last[1] = Math.max(last[1], end)
      else ranges.push([start, end])
    }
    return ranges
  }
}

function beginningsOf(form: string): string[] {
  return Array.from({ length: form.length - 1 }, (_, index) => form.slice(0, index + 1))
}

/** A key as it is, escaped, and in base64. */
export function formsOfKey(key: string): readonly string[] {
  return [...new Set([key, ...escapedForms(key), ...base64Forms(key)])]
}

/** In URLs, in JSON (once and twice), in HTML, in hex. */
export function escapedForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const html = text.replace(/[&<>"']/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[sign]!)
  return [
    encodeURIComponent(text.toWellFormed()), json, JSON.stringify(json).slice(1, -1), json.replaceAll('/', '\\/'),
    html, html.replaceAll('&#39;', '&#x27;'), unicode(text), Buffer.from(text).toString('hex'),
  ]
}

/** JSON that writes every character as an escape. */
function unicode(text: string): string {
  return Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
}

/** Base64 of a text that begins anywhere in what was encoded: three ways, without the characters that its neighbours have a part in. */
export function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text)
  return [0, 1, 2].flatMap((shift) => {
    const coded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    const inner = coded.slice(Math.ceil(shift * 8 / 6), Math.floor((shift + bytes.length) * 8 / 6))
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

/** Of the letters that keys have: a text keeps its length. */
function lower(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
