import { randomBytes } from 'node:crypto'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type {
  OAuthClientInformationMixed, OAuthClientMetadata, OAuthClientProvider, OAuthDiscoveryState, OAuthTokens,
} from '@modelcontextprotocol/client'
import { Credentials, type Saved } from './credentials.ts'
import type { OAuthConfig } from './server-config.ts'

/** Milliseconds to wait for the browser's redirect. */
const PATIENCE = 600_000

/** OAuth at one server: the SDK's provider interface, and the loopback address for the browser's redirect. */
export class SignIn implements OAuthClientProvider {
  /** The page that the user must open, once the server asks for a sign-in. */
  page: URL | undefined
  private readonly config: OAuthConfig
  private readonly credentials: Credentials
  private saved: Saved
  private verifier = ''
  /** The authorization server that the page was made for: the answer is checked against it. */
  private discovery: OAuthDiscoveryState | undefined
  private readonly secret = randomBytes(16).toString('hex')
  private server: Server | undefined
  private returned: ((params: URLSearchParams | undefined) => void) | undefined

  private constructor(config: OAuthConfig, credentials: Credentials, saved: Saved) {
    this.config = config
    this.credentials = credentials
    this.saved = saved
  }

  /** Starts from the stored sign-in. */
  static async at(url: string, config: OAuthConfig): Promise<SignIn> {
    const credentials = new Credentials(url)
    return new SignIn(config, credentials, await credentials.load())
  }

  /** True with tokens of an earlier sign-in. */
  get isKnown(): boolean {
    return this.saved.tokens !== undefined
  }

  /** Listens for the browser's redirect: at the registered port, where it is free. */
  async listen(): Promise<void> {
    if (this.server) return
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', this.redirectUrl)
      const isOurs = request.method === 'GET' && pathname === '/callback' && searchParams.get('state') === this.secret
      response.writeHead(isOurs ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8' })
      response.end(isOurs ? 'Signed in. This page can be closed.\n' : 'There is nothing here.\n')
      if (isOurs) this.returned?.(searchParams)
    })
    const listening = (port: number): Promise<void> => new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
    const { port = 0 } = this.saved
    await listening(port).catch(() => {
      // Another process uses it: the client is registered again with a new port, unless a page was made already, which
      // leads to this port.
      if (this.page) throw new Error(`the port ${port}, where the browser comes back to, is taken`)
      this.saved = { url: this.saved.url }
      return listening(0)
    })
    server.unref()
    this.server = server
    this.saved = { ...this.saved, port: (server.address() as AddressInfo).port }
  }

  /** The parameters of the browser's redirect; nothing where it does not come. */
  callback(signal: AbortSignal): Promise<URLSearchParams | undefined> {
    return new Promise((resolve) => {
      const end = (params?: URLSearchParams): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
        this.close()
        resolve(params)
      }
      const stop = (): void => end()
      const timer = setTimeout(stop, PATIENCE).unref()
      signal.addEventListener('abort', stop, { once: true })
      this.returned = end
    })
  }

  close(): void {
    this.server?.close()
    this.server?.closeAllConnections()
    this.server = undefined
  }

  get redirectUrl(): string {
    return `http://127.0.0.1:${this.saved.port ?? 0}/callback`
  }

  get clientMetadata(): OAuthClientMetadata {
    const { scope } = this.config
    return {
      client_name: 'headrace', redirect_uris: [this.redirectUrl], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
      token_endpoint_auth_method: this.config.clientSecret === undefined ? 'none' : 'client_secret_post',
      ...(scope !== undefined && { scope }),
    }
  }

  state(): string {
    return this.secret
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    const { clientId, clientSecret } = this.config
    if (clientId === undefined) return this.saved.client
    return { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) }
  }

  async saveClientInformation(client: OAuthClientInformationMixed): Promise<void> {
    await this.keep({ ...this.saved, client })
  }

  tokens(): OAuthTokens | undefined {
    return this.saved.tokens
  }

  async saveTokens(tokens: OAuthTokens): Promise<void> {
    await this.keep({ ...this.saved, tokens })
  }

  redirectToAuthorization(page: URL): void {
    this.page = page
  }

  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier
  }

  codeVerifier(): string {
    return this.verifier
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.discovery = state
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.discovery
  }

  async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    if (scope === 'all' || scope === 'discovery') this.discovery = undefined
    const { tokens: _tokens, client: _client, ...rest } = this.saved
    if (scope === 'all' || scope === 'client') await this.keep(rest)
    if (scope === 'tokens') await this.keep({ ...rest, ...(this.saved.client && { client: this.saved.client }) })
  }

  private async keep(saved: Saved): Promise<void> {
    this.saved = saved
    await this.credentials.save(saved)
  }
}
