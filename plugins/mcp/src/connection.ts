import { pathToFileURL } from 'node:url'
import type { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { ToolRun } from '@headrace/agent'
import { type JsonObject, messageOf } from '@headrace/message'
import { oneLine, quoted } from '@headrace/files'
import type { Config } from './config.ts'
import { elicit } from './elicitation.ts'
import { McpError } from './error.ts'
import { failureOf, isExcess } from './failure.ts'
import { linksTo } from './links.ts'
import { readLists } from './lists.ts'
import { type Sdk, loadSdk } from './sdk.ts'
import type { ServerConfig } from './server-config.ts'
import type { Told } from './told.ts'
import type { SignIn } from './sign-in.ts'
import type { Link } from './transport.ts'
import { untilAborted } from './until-aborted.ts'

/** Failed starts in a row after which only a call starts the server again. */
const MAX_FAILURES = 5
const MAX_PAUSE = 60_000
/** The longest delay of a timer: the tool has its own timeout for the call. */
const FOREVER = 2 ** 31 - 1

/** The state of a server: `down` until something starts it, or restarts it. */
export type ServerState = 'idle' | 'connecting' | 'ready' | 'down' | 'closed'

/** What a connection needs of the plugin. */
export interface ConnectionHost {
  readonly limits: Pick<Config, 'connectTimeout' | 'maxMessage' | 'maxTools' | 'maxDescription' | 'maxInstructions'>
  /** Folders that the server may look at. */
  roots(): readonly string[]
  /** Called when the server's lists are there for the first time, or changed. */
  told(connection: ServerConnection): void
  /** A warning for people, in Cordis' log. */
  warn(problem: string): void
}

/** The progress of a call, in the server's units. */
export interface CallProgress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/** One call at a server. */
export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: CallProgress) => void
}

/** Accepts any result, as the server sent it: an invalid part does not fail the rest. */
const ANY = { '~standard': { version: 1, vendor: 'headrace', validate: (value: unknown) => ({ value }) } } as const

/** A server over its lives: started in the background, again after a crash, and where a call needs it. */
export class ServerConnection {
  readonly config: ServerConfig
  /** The server's last lists; kept after a crash. */
  told: Told | undefined
  /** Why it is not running. */
  problem: string | undefined
  private readonly host: ConnectionHost
  private live: { readonly client: Client; readonly link: Link } | undefined
  private attempt: Promise<Client> | undefined
  /** Calls that are running on the server. */
  private readonly running: ToolRun[] = []
  private isSigningIn = false
  private failures = 0
  private hasExcess = false
  private readonly ending = new AbortController()
  private retry: ReturnType<typeof setTimeout> | undefined
  private readonly lists: ReturnType<typeof readLists>

  constructor(config: ServerConfig, host: ConnectionHost) {
    this.config = config
    this.host = host
    const source = { limits: host.limits, warn: this.warn.bind(this), request: this.ask.bind(this) }
    this.lists = readLists(source, (told) => {
      this.told = told
      host.told(this)
    })
  }

  get name(): string {
    return this.config.name
  }

  get state(): ServerState {
    if (this.ending.signal.aborted) return 'closed'
    if (this.live) return 'ready'
    if (this.attempt) return 'connecting'
    return this.failures > 0 || this.problem !== undefined ? 'down' : 'idle'
  }

  /** Starts it, in the background. Resolves when this attempt is over, however it ended. */
  async begin(): Promise<void> {
    await this.connect().catch(() => undefined)
  }

  /** Resolves when it is connected; starts it where it is not. @throws McpError */
  async connected(signal?: AbortSignal): Promise<void> {
    await untilAborted<unknown>(this.live ? Promise.resolve() : this.connect(), signal)
  }

  /** Settles when no list is being read any more; nothing where none is. */
  get reading(): Promise<void> | undefined {
    return this.lists.reading
  }

  /**
   * A request to the server, connected first where it is not. The result is as the server sent it.
   *
   * @throws McpError
   */
  async request(method: string, params: JsonObject, options: CallOptions = {}): Promise<unknown> {
    for (let again = false; ; again = true) {
      const client = await untilAborted(this.live ? Promise.resolve(this.live.client) : this.connect(), options.signal)
      try {
        return await client.request({ method, params }, ANY as never, {
          timeout: FOREVER,
          ...(options.signal && { signal: options.signal }),
          ...(options.onProgress && { onprogress: options.onProgress }),
        }) as unknown
      } catch (error) {
        options.signal?.throwIfAborted()
        const { live, hasExcess, host: { limits } } = this
        const failure = failureOf(error, method, this.name, { isConnected: live !== undefined, hasExcess, ...limits })
        // The server has lost the session, so it has not run this request.
        if (failure !== 'forgotten') throw failure
        this.lose(client, 'it has forgotten the session')
        if (again) throw new McpError('SERVER_DOWN', `The MCP server ${quoted(this.name)} forgets its sessions.`)
      }
    }
  }

  /**
   * Calls a tool: its progress becomes the call's, and what the server asks meanwhile becomes a question of the call.
   * @throws McpError
   */
  async call(params: JsonObject, run: ToolRun): Promise<unknown> {
    this.running.push(run)
    try {
      const onProgress = ({ progress, total, message }: CallProgress): void => {
        run.progress({ progress, total, message: message?.toWellFormed() })
      }
      return await this.request('tools/call', params, { signal: run.signal, onProgress })
    } finally {
      this.running.splice(this.running.indexOf(run), 1)
    }
  }

  /** Tells the server that the roots changed. */
  rootsChanged(): void {
    void this.live?.client.sendRootsListChanged().catch(() => undefined)
  }

  /** Ends it, and its process. */
  async close(): Promise<void> {
    this.ending.abort(new Error('the plugin was unloaded'))
    clearTimeout(this.retry)
    await this.attempt?.catch(() => undefined)
    const { live } = this
    this.live = undefined
    await live?.link.close().catch(() => undefined)
  }

  private connect(): Promise<Client> {
    if (this.ending.signal.aborted) return Promise.reject(new McpError('SERVER_DOWN', `The MCP server ${quoted(this.name)} is gone: its plugin was unloaded.`))
    if (this.isSigningIn) return Promise.reject(this.signInError())
    clearTimeout(this.retry)
    return (this.attempt ??= this.start().finally(() => {
      this.attempt = undefined
    }))
  }

  private async start(): Promise<Client> {
    const sdk = await loadSdk()
    const links = linksTo(sdk, this.config, { cwd: this.host.roots()[0] ?? process.cwd(), maxMessage: this.host.limits.maxMessage })
    let failure: unknown
    for (const connect of links) {
      const link = await connect(failure)
      if (!link) continue
      try {
        return await this.open(sdk, link)
      } catch (error) {
        failure = new Error(withStderr(oneLine(messageOf(error)), link), { cause: error })
        if (link.signIn?.page) return await this.signIn(link, link.signIn, link.signIn.page)
        await link.close().catch(() => undefined)
      }
    }
    throw this.failed(failure)
  }

  /** Waits for the user's browser in the background, then starts again. @throws McpError at once */
  private async signIn({ transport, close }: Link, signIn: SignIn, page: URL): Promise<never> {
    await signIn.listen()
    this.isSigningIn = true
    this.problem = `it waits for you to sign in; open ${page.href}`
    this.warn(this.problem)
    const finish = async (): Promise<void> => {
      const params = await signIn.callback(this.ending.signal)
      if (params && 'finishAuth' in transport) await (transport as StreamableHTTPClientTransport).finishAuth(params)
      this.problem = params ? undefined : 'nobody signed in'
    }
    void finish().catch((error: unknown) => {
      this.problem = `the sign-in failed: ${oneLine(messageOf(error))}`
      this.warn(this.problem)
    }).then(() => close()).catch(() => undefined).then(() => {
      this.isSigningIn = false
      return this.problem === undefined ? this.begin() : undefined
    })
    throw this.signInError()
  }

  private signInError(): McpError {
    return new McpError('SERVER_DOWN', `The MCP server ${quoted(this.name)} waits for the user to sign in. The call was not made.`)
  }

  private async open(sdk: Sdk, link: Link): Promise<Client> {
    const limit = AbortSignal.any([AbortSignal.timeout(this.host.limits.connectTimeout), this.ending.signal])
    const client = this.clientOf(sdk, link)
    await untilAborted(client.connect(link.transport, { signal: limit, timeout: this.host.limits.connectTimeout }), limit)
    const mark = { client, link }
    this.live = mark
    try {
      await untilAborted(this.lists.readAll(client), limit)
    } catch (error) {
      this.live = undefined
      throw error
    }
    // The server or the plugin may have ended while the lists were read.
    if (this.live !== mark) throw new Error('it ended while it told its lists')
    this.ending.signal.throwIfAborted()
    link.signIn?.close()
    this.failures = 0
    this.problem = undefined
    this.hasExcess = false
    return client
  }

  private clientOf(sdk: Sdk, link: Link): Client {
    const changed = (kind: 'tools' | 'prompts') => ({ autoRefresh: false, debounceMs: 0, onChanged: (): void => this.lists.changed(kind) })
    const client = new sdk.Client({ name: 'headrace', version: '0.1.0' }, {
      capabilities: { roots: { listChanged: true }, elicitation: { form: {} } },
      listChanged: { tools: changed('tools'), prompts: changed('prompts') },
    })
    client.setRequestHandler('roots/list', () => ({ roots: this.host.roots().map((folder) => ({ uri: pathToFileURL(folder).href })) }))
    client.setRequestHandler('elicitation/create', async ({ params }) => ({ ...await elicit(this.name, params, this.running) }))
    client.onclose = () => this.lose(client, withStderr('it ended', link))
    // Reported only where it ends a request; alone it is a line that is no message, which some servers print.
    client.onerror = (error) => { this.hasExcess ||= isExcess(error) }
    return client
  }

  /** A request of our own, bounded as a start is. */
  private ask(method: string, params: JsonObject): Promise<unknown> {
    const { live } = this
    if (!live) return Promise.reject(new McpError('SERVER_DOWN', 'it is not connected'))
    return live.client.request({ method, params }, ANY as never, { timeout: this.host.limits.connectTimeout }) as Promise<unknown>
  }

  /** The connection is over: the server's lists are kept, and it is started again. */
  private lose(client: Client, why: string): void {
    const { live } = this
    if (live?.client !== client) return
    this.live = undefined
    this.problem = why
    void live.link.close().catch(() => undefined)
    if (this.ending.signal.aborted || this.attempt) return
    this.warn(`${why}; it is started again`)
    this.later()
  }

  private failed(error: unknown): McpError {
    this.failures++
    this.problem = oneLine(messageOf(error))
    if (!this.ending.signal.aborted) {
      const last = this.failures >= MAX_FAILURES
      this.warn(`it cannot be reached: ${this.problem}${last ? '; it is tried again where a call needs it' : ''}`)
      if (!last) this.later()
    }
    return new McpError('SERVER_DOWN', `The MCP server ${quoted(this.name)} cannot be reached now. The call was not made.`, { cause: error })
  }

  private later(): void {
    clearTimeout(this.retry)
    const pause = Math.min(MAX_PAUSE, 1_000 * 2 ** Math.max(0, this.failures - 1))
    this.retry = setTimeout(() => void this.begin(), this.failures === 0 ? 100 : pause)
    this.retry.unref()
  }

  private warn(problem: string): void {
    this.host.warn(`the MCP server ${quoted(this.name)}: ${problem}`)
  }
}

function withStderr(problem: string, link: Link): string {
  const text = oneLine(link.stderr())
  return text === '' ? problem : `${problem}; it wrote: ${text.slice(-500)}`
}
