import { fieldsOf } from './told.ts'
import type { Sdk } from './sdk.ts'
import type { HttpServer, ServerConfig } from './server-config.ts'
import { SignIn } from './sign-in.ts'
import { type Link, httpLink, stdioLink } from './transport.ts'

interface LinkOptions {
  /** The working folder of a process whose config has none. */
  readonly cwd: string
  readonly maxMessage: number
}

/** Makes the next link from the error of the one before; nothing where it need not be tried after that error. */
type MakeLink = (failure: unknown) => Promise<Link | undefined>

/** The transports of a server, to be tried in turn. */
export function linksTo(sdk: Sdk, server: ServerConfig, { cwd, maxMessage }: LinkOptions): readonly MakeLink[] {
  if (server.kind === 'stdio') return [async () => stdioLink(sdk, server, cwd, maxMessage)]
  const kind = server.kind === 'sse' ? 'sse' : 'http'
  const links: MakeLink[] = [async () => httpLink(sdk, server, kind, maxMessage, await knownSignIn(server))]
  const { oauth } = server
  if (oauth !== false) {
    const signedIn: MakeLink = async () => httpLink(sdk, server, kind, maxMessage, await newSignIn(server, oauth))
    links.push(async (failure) => (statusOf(failure) === 401 ? signedIn(failure) : undefined))
  }
  // A server without the streamable protocol may speak the older one.
  if (server.kind === 'auto') links.push(async (failure) => ([400, 404, 405].includes(statusOf(failure)) ? httpLink(sdk, server, 'sse', maxMessage) : undefined))
  return links
}

/** The stored sign-in, if there is one; it listens for the browser only when its tokens are not accepted any more. */
async function knownSignIn({ url, oauth }: HttpServer): Promise<SignIn | undefined> {
  if (oauth === false) return undefined
  const signIn = await SignIn.at(url, oauth)
  return signIn.isKnown ? signIn : undefined
}

async function newSignIn({ url }: HttpServer, oauth: Exclude<HttpServer['oauth'], false>): Promise<SignIn> {
  const signIn = await SignIn.at(url, oauth)
  await signIn.listen()
  return signIn
}

function statusOf(failure: unknown): number {
  const { cause } = fieldsOf(failure)
  const { status } = fieldsOf(cause)
  return typeof status === 'number' ? status : 0
}
