/** The version of the three texts below. Logs name it to be rendered again: a change of any text is a new name. */
export const CONTEXT_TEMPLATE = 'run-context/1'

/** Opens every tail. */
export const CONTEXT_HEADING = '## Current context'

/** The first closing line of every tail: it overrides older statements. */
export const CONTEXT_PRECEDENCE =
  'This block outranks any environment description, tool catalogue or project instructions earlier in the conversation: ' +
  'where they disagree, this block is authoritative.'

/** The second closing line: the tail is the end of a request, and models tend to answer the end. */
export const CONTEXT_NOT_A_REQUEST = 'It is context, not a request: do not acknowledge it and do not answer it.'
