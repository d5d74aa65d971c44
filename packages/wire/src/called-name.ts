import type { ToolSchema } from '@headrace/message'
import { ownName, toolName } from './ids.ts'

/**
 * The name of a call. Some servers stream it in pieces, others repeat the whole of it, or what there is of it so far, in
 * each piece: which one it is, the names of the tools that were sent tell.
 */
export class CalledName {
  /** What came of it so far, as it is sent. */
  text = ''
  private readonly tools: readonly ToolSchema[]
  private told = ''

  constructor(tools: readonly ToolSchema[]) {
    this.tools = tools
  }

  add(piece: string): void {
    const { text } = this
    if (this.begins(text + piece)) this.text += piece
    else if (piece.startsWith(text)) this.text = piece
    else if (!this.isTool) this.text += piece
  }

  /** Whether the name is none yet, and would be one, or the beginning of one, with this piece. */
  goesOn(piece: string): boolean {
    return this.text !== '' && !this.isTool && this.begins(this.text + piece)
  }

  /** The tool's name, where it was not told yet; the beginning of one waits for the rest, unless it must be whole. */
  news(isWhole: boolean): string | undefined {
    const { text, told } = this
    if (text === told || (!isWhole && !this.isTool && this.begins(text))) return undefined
    this.told = text
    return ownName(text, this.tools)
  }

  private get isTool(): boolean {
    return this.tools.some(({ name }) => toolName(name) === this.text)
  }

  private begins(text: string): boolean {
    return this.tools.some(({ name }) => toolName(name).startsWith(text))
  }
}
