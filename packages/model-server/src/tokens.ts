import type { ChatBody } from './protocol.ts'

const CHARACTERS_A_TOKEN = 4

/** What a provider's template makes of a body, near enough for a cache: the tools, then each message, a line of JSON each. */
export function promptText(body: Pick<ChatBody, 'messages' | 'tools'>): string {
  return [...body.tools ?? [], ...body.messages].map((part) => `${JSON.stringify(part)}\n`).join('')
}

/** Cuts a text into stand-ins for tokens, four characters each: an estimate of English and code, the same for everyone. */
export function tokensOf(text: string): string[] {
  const tokens = new Array<string>(Math.ceil(text.length / CHARACTERS_A_TOKEN))
  for (let index = 0; index < tokens.length; index++) {
    tokens[index] = text.slice(index * CHARACTERS_A_TOKEN, (index + 1) * CHARACTERS_A_TOKEN)
  }
  return tokens
}

/** The estimated number of tokens of a text. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_A_TOKEN)
}

/** The estimated number of tokens of a body's tools and messages, as the server bills them. */
export function promptTokens(body: Pick<ChatBody, 'messages' | 'tools'>): number {
  return countTokens(promptText(body))
}
