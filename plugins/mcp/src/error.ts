import { HeadraceError } from '@headrace/message'

/** Codes of an `McpError`. */
export type McpErrorCode =
  | 'SERVER_CONFIG' | 'SERVER_DOWN' | 'SERVER_ENDED' | 'SERVER_REFUSED' | 'SERVER_UNKNOWN' | 'LIST_INVALID' | 'TOOL_GONE' | 'RESULT_INVALID'

/** What a server could not do, or what is wrong with its config; the message is written for whoever asked, a model too. */
export class McpError extends HeadraceError {
  declare readonly code: McpErrorCode

  constructor(code: McpErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options)
  }
}
