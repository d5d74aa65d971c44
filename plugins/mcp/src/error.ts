import { HeadraceError } from '@headrace/message'

/** Codes of an `McpError`. */
export type McpErrorCode =
  | 'SERVER_CONFIG' | 'SERVER_DOWN' | 'SERVER_ENDED' | 'SERVER_REFUSED' | 'SERVER_UNKNOWN' | 'LIST_INVALID' | 'TOOL_GONE' | 'RESULT_INVALID'

/** A failure of a server, or an error in its config; the message is written for the caller, which may be a model. */
export class McpError extends HeadraceError {
  declare readonly code: McpErrorCode

  constructor(code: McpErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options)
  }
}
