import type { Chunk } from '@headrace/message'

/**
 * Rejoins characters whose two halves (a surrogate pair) came in two pieces of a text: the first half waits for the
 * next piece. A half that stays alone becomes U+FFFD, so that no chunk holds half a character.
 */
export class Halves {
  /** The first half at the end of each text. */
  private readonly waiting = new Map<string, string>()

  /** Takes a chunk in. Returns what can be told now: none where all of it waits for its other half, several at the end. */
  read(chunk: Chunk): readonly Chunk[] {
    switch (chunk.type) {
      case 'text':
      case 'reasoning': {
        const { type, text: piece, metadata } = chunk
        // A block's metadata comes at its end.
        const text = this.join(type, piece, metadata !== undefined)
        if (text === piece) return [chunk]
        return text === '' && metadata === undefined ? [] : [{ ...chunk, text }]
      }
      case 'tool-call': return this.call(chunk)
      case 'finish': return [...this.rest(), chunk]
      default: return [chunk]
    }
  }

  private call(chunk: Extract<Chunk, { type: 'tool-call' }>): Chunk[] {
    const { arguments: piece, id, name, ...place } = chunk
    const text = piece === undefined ? '' : this.join(`${chunk.index}`, piece, false)
    const whole: Chunk = {
      ...place, ...(id !== undefined && { id: id.toWellFormed() }), ...(name !== undefined && { name: name.toWellFormed() }),
      ...(text !== '' && { arguments: text }),
    }
    return Object.keys(whole).length > 2 ? [whole] : []
  }

  private join(key: string, piece: string, isLast: boolean): string {
    const text = (this.waiting.get(key) ?? '') + piece
    const half = isLast ? undefined : /[\ud800-\udbff]$/.exec(text)?.[0]
    if (half === undefined) this.waiting.delete(key)
    else this.waiting.set(key, half)
    return (half === undefined ? text : text.slice(0, -1)).toWellFormed()
  }

  /** What still waits, at the end of the answer. */
  private rest(): Chunk[] {
    return [...this.waiting.keys()].map((key): Chunk => key === 'text' || key === 'reasoning'
      ? { type: key, text: '\ufffd' }
      : { type: 'tool-call', index: Number(key), arguments: '\ufffd' })
  }
}
