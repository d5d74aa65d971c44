import type { Protocol } from '@headrace/wire'

/** JSON whose shape is what is asked. */
type Parsed = ReturnType<typeof JSON.parse>

/** What a family's published rules say against a body; nothing where it would be accepted. Each rule with its source. */
type Checker = (body: Parsed) => string[]

const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/
const blank = (text: unknown): boolean => typeof text !== 'string' || text.trim() === ''
const repeated = (list: readonly unknown[]): boolean => new Set(list).size < list.length

/** OpenAI's OpenAPI document, `CreateChatCompletionRequest`, and the errors of the API. */
function chat(body: Parsed, { strictRoles = false }: { strictRoles?: boolean } = {}): string[] {
  const problems: string[] = []
  const say = (problem: string): void => void problems.push(problem)
  if (!Array.isArray(body.messages) || body.messages.length === 0) say('messages: at least one')
  let owed: string[] = []
  let last: string | undefined
  const ids: string[] = []
  for (const [index, message] of (body.messages ?? []).entries()) {
    const at = `messages[${index}]`
    // "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
    // "must be followed by tool messages responding to each 'tool_call_id'"
    if (message.role === 'tool') {
      if (owed[0] !== message.tool_call_id) say(`${at}: answers no call, or not in order`)
      owed = owed.slice(1)
      if (typeof message.content !== 'string') say(`${at}: content of a tool is a text`)
    } else {
      if (owed.length > 0) say(`${at}: calls without results before it`)
      owed = (message.tool_calls ?? []).map((call: Parsed) => call.id)
    }
    for (const call of message.tool_calls ?? []) {
      ids.push(call.id)
      // "string too long. Expected a string with maximum length 40"
      if (typeof call.id !== 'string' || call.id === '' || call.id.length > 40) say(`${at}: id ${call.id}`)
      if (!NAME.test(call.function.name)) say(`${at}: name ${call.function.name}`)
      // vLLM, Ollama and others parse it: "arguments must be a JSON object"
      if (typeof call.function.arguments !== 'string' || !isObjectText(call.function.arguments)) say(`${at}: arguments ${call.function.arguments}`)
    }
    if (message.role === 'assistant') {
      // "Invalid value for 'content': expected a string, got null" where there are no calls; Moonshot: "must not be empty"
      const isEmpty = message.content === null || (typeof message.content === 'string' && blank(message.content))
      if (!message.tool_calls && isEmpty) say(`${at}: an empty answer`)
      if (message.tool_calls?.length === 0) say(`${at}: "[] is too short - 'messages.tool_calls'"`)
    } else if (message.role !== 'tool' && (Array.isArray(message.content) ? message.content.length === 0 : blank(message.content))) {
      say(`${at}: empty content`)
    }
    if (strictRoles) {
      // Jinja templates of Gemma, Mistral, Qwen: "System message must be at the beginning",
      // "Conversation roles must alternate user/assistant/user/assistant/..."
      if (message.role === 'system' && index > 0) say(`${at}: a system message behind the first`)
      if (message.role === last && (last === 'user' || last === 'assistant')) say(`${at}: two of ${last} in a row`)
    }
    last = message.role
  }
  if (owed.length > 0) say('calls without results at the end')
  if (repeated(ids)) say('an id twice')
  if (body.tools?.length === 0) say('tools: [] is too short')
  return problems
}

function isObjectText(text: string): boolean {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/** OpenAI's OpenAPI document, `CreateResponse` and `InputItem`; guides/reasoning, "Keeping reasoning items in context". */
function responses(body: Parsed): string[] {
  const problems: string[] = []
  const say = (problem: string): void => void problems.push(problem)
  if (body.store !== false) say('store')
  if (!Array.isArray(body.input) || body.input.length === 0) say('input: at least one item')
  const calls = new Map<string, number>()
  for (const [index, item] of (body.input ?? []).entries()) {
    const at = `input[${index}]`
    if (item.type === 'item_reference') say(`${at}: what the model sees is not in the body`)
    if (item.role !== undefined && !['user', 'assistant', 'developer'].includes(item.role)) say(`${at}: role ${item.role}`)
    const texts = Array.isArray(item.content) ? item.content : []
    if (item.role === 'user' && texts.some((part: Parsed) => !['input_text', 'input_image', 'input_file'].includes(part.type))) say(`${at}: part`)
    if (item.role === 'assistant' && texts.some((part: Parsed) => part.type !== 'output_text')) say(`${at}: part`)
    if (item.role !== undefined && (typeof item.content === 'string' ? blank(item.content) : texts.length === 0)) say(`${at}: empty`)
    if (item.type === 'function_call') {
      if (calls.has(item.call_id)) say(`${at}: id twice`)
      calls.set(item.call_id, index)
      // "string too long. Expected a string with maximum length 64"; 40 in earlier ones
      if (item.call_id.length > 40 || item.call_id === '') say(`${at}: call_id`)
      if (!NAME.test(item.name)) say(`${at}: name`)
      if (!isObjectText(item.arguments)) say(`${at}: arguments`)
    }
    // "No tool call found for function call output with call_id …"
    if (item.type === 'function_call_output' && !calls.delete(item.call_id)) say(`${at}: answers no call`)
    if (item.type === 'reasoning') {
      if (typeof item.id !== 'string' || !Array.isArray(item.summary) || typeof item.encrypted_content !== 'string') say(`${at}: not whole`)
      // "Item 'rs_…' of type 'reasoning' was provided without its required following item."
      const next = body.input[index + 1]
      if (next?.role !== 'assistant' && next?.type !== 'function_call' && next?.type !== 'reasoning') say(`${at}: nothing follows it`)
    }
  }
  // "No tool output found for function call …"
  if (calls.size > 0) say('calls without results')
  return problems
}

/** docs.anthropic.com: api/messages, build-with-claude/{prompt-caching,extended-thinking}, and the errors of the API. */
function anthropic(body: Parsed): string[] {
  const problems: string[] = []
  const say = (problem: string): void => void problems.push(problem)
  if (!(body.max_tokens > 0)) say('max_tokens: field required')
  if (body.messages?.[0]?.role !== 'user') say('messages: first message must use the "user" role')
  // Newer models: "This model does not support assistant message prefill."
  if (body.messages?.at(-1)?.role !== 'user') say('messages: the last one is the assistant’s')
  let owed: string[] = []
  const ids: string[] = []
  const marked: Parsed[] = [...(body.system ?? []), ...(body.tools ?? [])].filter((block) => block.cache_control)
  for (const [index, { role, content }] of (body.messages ?? []).entries()) {
    const at = `messages.${index}`
    if (role !== 'user' && role !== 'assistant') say(`${at}: role ${role}`)
    // "roles must alternate between "user" and "assistant"", in versions and clouds that do not combine them
    if (body.messages[index - 1]?.role === role) say(`${at}: two in a row`)
    // "all messages must have non-empty content"
    if (!Array.isArray(content) || content.length === 0) say(`${at}: no content`)
    const results = content.filter((block: Parsed) => block.type === 'tool_result').map((block: Parsed) => block.tool_use_id)
    // "`tool_use` ids were found without `tool_result` blocks immediately after", "unexpected `tool_use_id` found in `tool_result` blocks"
    if (JSON.stringify(results) !== JSON.stringify(owed)) say(`${at}: results ${results.join()} for calls ${owed.join()}`)
    if (content.slice(0, results.length).some((block: Parsed) => block.type !== 'tool_result')) say(`${at}: results are not first`)
    owed = content.filter((block: Parsed) => block.type === 'tool_use').map((block: Parsed) => block.id)
    ids.push(...owed)
    for (const block of content) {
      // "text content blocks must be non-empty", "must contain non-whitespace text"
      const texts = block.type === 'tool_result' ? block.content ?? [] : [block]
      if (texts.some((part: Parsed) => part.type === 'text' && blank(part.text))) say(`${at}: blank text`)
      if (block.type === 'tool_use') {
        if (!/^[a-zA-Z0-9_-]+$/.test(block.id)) say(`${at}: id ${block.id}`)
        if (!NAME.test(block.name)) say(`${at}: name ${block.name}`)
        if (typeof block.input !== 'object' || block.input === null || Array.isArray(block.input)) say(`${at}: input`)
      }
      if (block.type === 'thinking' && blank(block.signature)) say(`${at}: thinking.signature: Field required`)
      if (block.cache_control) {
        marked.push(block)
        // "thinking blocks cannot be cached directly with cache_control"
        if (/thinking/.test(block.type)) say(`${at}: a breakpoint on thinking`)
      }
    }
    // "The final block in an assistant message cannot be `thinking`."
    if (/thinking/.test(content.at(-1)?.type)) say(`${at}: thinking is last`)
  }
  if (owed.length > 0) say('calls without results at the end')
  // "`tool_use` ids must be unique"
  if (repeated(ids)) say('an id twice')
  // "A maximum of 4 blocks with cache_control may be provided."
  if (marked.length > 4) say(`${marked.length} breakpoints`)
  if (body.thinking?.type === 'enabled') {
    if (!(body.thinking.budget_tokens >= 1024 && body.thinking.budget_tokens < body.max_tokens)) say('thinking.budget_tokens')
    // "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message
    // must start with a thinking block"
    const open = body.messages.at(-1).content.some((block: Parsed) => block.type === 'tool_result')
    if (open && !/thinking/.test(body.messages.at(-2).content[0].type)) say('the final answer does not start with thinking')
  }
  return problems
}

/** ai.google.dev: gemini-api/docs/{function-calling,thought-signatures}, api/generate-content, and the errors of the API. */
function google(body: Parsed, { signed = false }: { signed?: boolean } = {}): string[] {
  const problems: string[] = []
  const say = (problem: string): void => void problems.push(problem)
  if (!Array.isArray(body.contents) || body.contents.length === 0) say('contents is not specified')
  let owed: string[] = []
  let last: string | undefined
  for (const [index, { role, parts }] of (body.contents ?? []).entries()) {
    const at = `contents[${index}]`
    // "Please use a valid role: user, model."
    if (role !== 'user' && role !== 'model') say(`${at}: role ${role}`)
    // "contents.parts must not be empty."
    if (!Array.isArray(parts) || parts.length === 0) say(`${at}: no parts`)
    const calls = parts.filter((part: Parsed) => part.functionCall)
    const results = parts.filter((part: Parsed) => part.functionResponse)
    // "the number of function response parts is equal to the number of function call parts of the function call turn"
    const names = results.map((part: Parsed) => part.functionResponse.name)
    if (JSON.stringify(names) !== JSON.stringify(owed)) say(`${at}: responses ${names.join()} to calls ${owed.join()}`)
    if (results.length > 0 && results.length < parts.length) say(`${at}: something beside the responses`)
    // "function call turn comes immediately after a user turn or after a function response turn"
    if (calls.length > 0 && last !== 'user') say(`${at}: a call that nobody asked for`)
    owed = calls.map((part: Parsed) => part.functionCall.name)
    // "Function call is missing a thought_signature in functionCall parts", Gemini 3: the first of each step
    if (signed && calls.length > 0 && calls[0].thoughtSignature === undefined) say(`${at}: no signature`)
    for (const part of parts) {
      const data = ['text', 'functionCall', 'functionResponse', 'inlineData'].filter((field) => part[field] !== undefined)
      // "required oneof field 'data' must have one initialized field"
      if (data.length !== 1) say(`${at}: ${data.length} kinds of data in a part`)
      if (part.text === '' && part.thoughtSignature === undefined) say(`${at}: empty text`)
      if (part.functionCall && !NAME.test(part.functionCall.name)) say(`${at}: name`)
    }
    last = role
  }
  if (owed.length > 0) say('calls without responses at the end')
  if (body.contents?.at(-1)?.role !== 'user') say('the last content is the model’s')
  return problems
}

export const RULES = { chat, responses, anthropic, google } satisfies Record<string, Checker>

/**
 * What a wire shows of a body's messages: (role, block) with what steers the cache left out. Two bodies of one
 * conversation share a beginning.
 */
export function blocksOf(family: Protocol, body: Parsed): string[] {
  const list = body.messages ?? body.input ?? body.contents
  return list.flatMap((message: Parsed) => {
    const { content, parts, ...rest } = message
    const inner: unknown[] = Array.isArray(content) ? content : parts ?? [typeof content === 'string' ? { type: 'text', text: content } : content ?? null]
    const head = family === 'openai-chat' && message.role === 'user' ? { role: 'user' } : rest
    return inner.map((block: Parsed) => {
      const { cache_control: _mark, ...shown } = block ?? {}
      return JSON.stringify([head, shown])
    })
  })
}
