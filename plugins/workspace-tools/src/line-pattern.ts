import { messageOf } from '@headrace/message'
import { RE2JS } from 're2js'
import { WorkspaceError } from './error.ts'

/** Of what re2js reports; a search costs at most this times the length of the text. `\w{1,200}` is 400. */
const MAX_PROGRAM = 2_000

/** An expression for one line, of an engine that never backtracks: no expression of a model can hang us. */
export class LinePattern {
  private readonly expression: RE2JS

  /** @throws WorkspaceError for what is not an expression, or a too costly one */
  constructor(pattern: string, ignoreCase: boolean) {
    try {
      this.expression = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
    } catch (error) {
      throw new WorkspaceError('PATTERN_INVALID', `The pattern is not valid: ${messageOf(error)}. It is RE2 syntax: no look-around, no back-references; \\ before a character that means itself.`)
    }
    if (this.expression.programSize() > MAX_PROGRAM) throw new WorkspaceError('PATTERN_INVALID', 'The pattern is too large: repeat less in it.')
  }

  test(line: string): boolean {
    return this.expression.test(line)
  }

  /** Where the first match begins; for a line that matches. */
  indexIn(line: string): number {
    const matcher = this.expression.matcher(line)
    return matcher.find() ? matcher.start() : 0
  }
}
