import type { Family } from '../family.ts'
import { type AnthropicTraits, anthropic } from './anthropic.ts'
import { type GoogleTraits, google } from './google.ts'
import { type ChatTraits, openaiChat } from './openai-chat.ts'
import { type ResponsesTraits, openaiResponses } from './openai-responses.ts'

/** What one provider supports, in whichever protocol it speaks. */
export type Traits = ChatTraits | ResponsesTraits | AnthropicTraits | GoogleTraits

/** The name of a protocol. */
export type Protocol = Traits['family']

const FAMILIES: { readonly [P in Protocol]: Family<Extract<Traits, { family: P }>> } = {
  'openai-chat': openaiChat, 'openai-responses': openaiResponses, anthropic, google,
}

/** The names of the protocols. */
export const PROTOCOLS = Object.keys(FAMILIES) as readonly Protocol[]

/** The protocol that a provider speaks. */
export function familyOf<T extends Traits>({ family }: T): Family<T> {
  return FAMILIES[family] as unknown as Family<T>
}
