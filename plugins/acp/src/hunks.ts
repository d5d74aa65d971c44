/** A part of a file before and after a change. */
export interface Hunk {
  readonly oldText: string
  readonly newText: string
  /** Where it begins in the new file, from 1. */
  readonly line: number
}

const HEAD = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

/** The parts of a unified diff of one file; `undefined` where it is none, or where a part is not whole. */
export function hunksOf(diff: string): readonly Hunk[] | undefined {
  const lines = diff.split('\n')
  const hunks: Hunk[] = []
  for (let at = 0; at < lines.length; at++) {
    const head = HEAD.exec(lines[at]!)
    if (!head) continue
    const [, olds = '1', line = '1', news = '1'] = head
    const [before, after] = [new Side(Number(olds)), new Side(Number(news))]
    // By the lengths in its head: a line of the file may look like another head.
    let last: readonly Side[] = []
    while (before.left + after.left > 0 || lines[at + 1]?.startsWith('\\')) {
      const [mark, text] = [lines[++at]?.[0], lines[at]?.slice(1)]
      if (text === undefined || mark === undefined || !' +-\\'.includes(mark)) return undefined
      // Diffs say it behind the last line of a file.
      if (mark === '\\') for (const side of last) side.dropLineFeed()
      else for (const side of (last = mark === ' ' ? [before, after] : mark === '-' ? [before] : [after])) side.add(text)
    }
    hunks.push({ oldText: before.text, newText: after.text, line: Number(line) })
  }
  return hunks.length > 0 ? hunks : undefined
}

/** The lines of one side of a hunk. */
class Side {
  /** Lines that are still to come. */
  left: number
  text = ''

  constructor(left: number) {
    this.left = left
  }

  add(line: string): void {
    this.left--
    this.text += `${line}\n`
  }

  dropLineFeed(): void {
    this.text = this.text.slice(0, -1)
  }
}
