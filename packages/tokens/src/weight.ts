import { type Digest, type Message, type ToolSchema, digestOf, isOurs, textOf } from '@headrace/message'

/** What is weighed of a RunContext; the class of `@headrace/run-context` is one. */
export interface WeighableContext {
  readonly digest: Digest
  readonly headMessage?: Message | undefined
  readonly tailMessage?: Message | undefined
}

/** What a RunContext weighs for a whole run. `head` and `tail` name the messages that `tokens` stands for. */
export interface ContextWeight {
  readonly digest: Digest
  readonly tokens: number
  readonly head?: Message
  readonly tail?: Message
}

/** Weighs a context's two messages as text. Once per run: keep the result. */
export function weighContext(counter: { countText(text: string): number }, context: WeighableContext): ContextWeight {
  const { digest, headMessage: head, tailMessage: tail } = context
  const tokens = [head, tail].reduce((sum, message) => (message ? sum + counter.countText(textOf(message)) : sum), 0)
  return Object.freeze({ digest, tokens, ...head && { head }, ...tail && { tail } })
}

/** A scale for tool declarations: their JSON as text, remembered per tool and per list that nobody can change. */
export function toolScale(countText: (text: string) => number): (tools: readonly ToolSchema[] | undefined) => number {
  const known = new WeakMap<object, number>()

  function remember<T extends object>(value: T, count: (value: T) => number): number {
    const tokens = known.get(value) ?? count(value)
    if (isOurs(value)) known.set(value, tokens)
    return tokens
  }

  const weighTool = ({ name, description, parameters }: ToolSchema): number => countText(JSON.stringify({ name, description, parameters }))
  const weighTools = (tools: readonly ToolSchema[]): number => tools.reduce((sum, tool) => sum + remember(tool, weighTool), 0)
  return (tools) => (tools ? remember(tools, weighTools) : 0)
}

/** True for the same message, copied or not. */
export function isSame(a: Message | undefined, b: Message | undefined): boolean {
  return a !== undefined && b !== undefined && (a === b || digestOf(a) === digestOf(b))
}
