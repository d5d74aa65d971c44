import type { Seat } from '@headrace/desk'
import { STREAM_HEADERS, type Said, eventStream } from './event-stream.ts'
import type { Asked, Parts } from './router.ts'

/**
 * A stream of a session, for as long as its reader takes it: one of the user's, who sits at the session meanwhile. A reader that goes
 * away stops nothing. What was cut off, or waits, goes on because somebody looks.
 *
 * @throws Problem where the user has as many streams as one may have
 */
export function streamOf(
  { settings, sessions, closing }: Parts,
  { request, connection, user }: Asked,
  seat: Seat,
  told: (signal: AbortSignal) => AsyncGenerator<Said>,
  headers: Readonly<Record<string, string>> = {},
): Response {
  // A HEAD response's body is dropped unread, so a stream would never end.
  if (request.method === 'HEAD') return new Response(null, { headers: { ...STREAM_HEADERS, ...headers } })
  const release = sessions.stream(user)
  const leave = sessions.attend(seat)
  void sessions.wake(seat)
  const stop = new AbortController()
  const onClose = (): void => stop.abort()
  closing.addEventListener('abort', onClose)
  const over = (): void => {
    stop.abort()
    closing.removeEventListener('abort', onClose)
    leave()
    release()
  }
  return eventStream(told(stop.signal), { ...settings, headers, cut: connection.cut, over })
}
