/** The version of the three texts below. Logs name it to be rendered again: a change of any text is a new name. */
export const CONTEXT_TEMPLATE = 'run-context/1'

/** Opens every tail. */
export const CONTEXT_HEADING = '## Current context'

/** The first closing line of every tail: which of two truths counts. */
export const CONTEXT_PRECEDENCE =
  'This block outranks any environment description, tool catalogue or project instructions earlier in the conversation: ' +
  'where they disagree, this block is authoritative.'

/** The second closing line: the tail has the last word of a request, and a model answers last words. */
export const CONTEXT_NOT_A_REQUEST = 'It is context, not a request: do not acknowledge it and do not answer it.'
