import { messageOf } from '@headrace/message'
import { oneLine, quoted } from '@headrace/files'
import { McpError } from './error.ts'
import { fieldsOf } from './told.ts'
import { STREAM_ENDED } from './transport.ts'

/** Codes of errors where no connection was made. */
const NOT_SENT: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']
/** Codes of errors where a request gets no answer any more. */
const OVER: readonly unknown[] = ['CONNECTION_CLOSED', 'NOT_CONNECTED', STREAM_ENDED]

/** The state of a connection whose request failed. */
interface Failed {
  readonly isConnected: boolean
  /** Where it is over: a message was longer than it may be. */
  readonly hasExcess: boolean
  /** Bytes. */
  readonly maxMessage: number
}

/** True for the error of a message that is longer than it may be: the SDK's by stdio, ours by HTTP. */
export function isExcess(error: unknown): boolean {
  return /exceeded maximum size of \d+ bytes|a message has more than \d+ bytes/.test(messageOf(error))
}

/** Why a request failed, in words for its caller; or that the server has lost the session, and so has not run it. */
export function failureOf(error: unknown, method: string, server: string, { isConnected, hasExcess, maxMessage }: Failed): McpError | 'forgotten' {
  const { code, status, cause } = fieldsOf(error)
  const at = `The MCP server ${quoted(server)}`
  const broken = fieldsOf(cause).code
  if (NOT_SENT.includes(broken)) return new McpError('SERVER_DOWN', `${at} cannot be reached now. The call was not made.`, { cause: error })
  // How servers report an unknown session: not all use the specified status.
  if (status === 404 || (status === 400 && /session/i.test(messageOf(error)))) return 'forgotten'
  const effect = method === 'tools/call' ? ' The call may have had its effect.' : ''
  if (isExcess(error) || (!isConnected && hasExcess)) return new McpError('SERVER_ENDED', `${at} answered with more than ${maxMessage} bytes, which were dropped.${effect}`, { cause: error })
  if (!isConnected || broken !== undefined || OVER.includes(code)) return new McpError('SERVER_ENDED', `${at} ended before it answered.${effect}`, { cause: error })
  return new McpError('SERVER_REFUSED', `${at} answered with an error: ${oneLine(messageOf(error)).slice(0, 2_000)}`, { cause: error })
}
