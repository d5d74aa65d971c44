/**
 * Asks a terminal whether it works (ECMA-48, device status report). It answers when it has shown all that was written before, and its
 * answer stands in its input behind all that was typed until then.
 */
export const STANDS = '\u001b[5n'

// oxlint-disable-next-line no-control-regex
const REPLY = /\u001b\[[03]n/
// oxlint-disable-next-line no-control-regex
const BEGUN = /\u001b(?:\[[03]?)?$/

/**
 * Parts what a person typed before a question stood on the screen from what they typed after: only this answers it (L21). Feed it all that
 * comes from the terminal once {@link STANDS} was written behind the question.
 */
export class KeyGate {
  private owed = 0
  private held = ''

  /** A question was written, and {@link STANDS} behind it. Replies to earlier ones that come late do not count for it. */
  close(): void {
    this.owed++
  }

  /** True where what comes now was typed with the newest question on the screen. */
  get isOpen(): boolean {
    return this.owed === 0
  }

  /** @returns what was typed before (a draft, or a line that is nobody's answer), and after */
  take(text: string): { readonly before: string; readonly after: string } {
    let rest = this.held + text
    let before = ''
    this.held = ''
    while (this.owed > 0) {
      const reply = REPLY.exec(rest)
      if (!reply) {
        // A reply may come in pieces.
        const begun = BEGUN.exec(rest)
        this.held = begun?.[0] ?? ''
        return { before: before + (begun ? rest.slice(0, begun.index) : rest), after: '' }
      }
      this.owed--
      before += rest.slice(0, reply.index)
      rest = rest.slice(reply.index + reply[0].length)
    }
    return { before, after: rest }
  }
}
