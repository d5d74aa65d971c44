import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Context } from 'cordis'
import type { SessionEvent } from '@headrace/session'
import { until } from '@headrace/testing/gate'
import { TOKEN, app } from './kit.ts'
import { Proxy } from './proxy.ts'

/** As far as the page uses it. */
interface Source {
  addEventListener(type: string, listener: (event: { readonly data: string }) => void): void
}

/** Debian's, or what the machine says. */
const PATH = [process.env.HEADRACE_CHROMIUM ?? '', '/usr/bin/chromium'].find((path) => path !== '' && existsSync(path))

if (PATH === undefined) {
  it('was not tried: this machine has no Chromium, and says of none', () => expect(process.env.HEADRACE_CHROMIUM ?? '').toBe(''))
} else describe('EventSource of Chromium', () => {
  let browser: Browser
  beforeAll(async () => { browser = await chromium.launch({ executablePath: PATH, args: ['--no-sandbox'] }) })
  afterAll(() => browser.close())

  it('goes on behind what it had, after its connection was cut and the server was started again', async () => {
    const setup = (ctx: Context): void => void ctx.tools.define({ name: 'go', description: 'goes', parameters: { type: 'object' }, execute: () => 'gone' })
    const script = [{ text: 'One moment.', calls: [{ name: 'go' }], pieces: 3 }, 'All done.']
    const one = await app({ script, setup })
    const id = await one.create()
    const proxy = await Proxy.to((await one.listen()).url)
    const page = await browser.newPage()
    // A page of the server's own origin: nothing of another is allowed to ask.
    await page.goto(`${proxy.url}/health/live`)
    await page.evaluate(([url]) => {
      const told: unknown[] = []
      Object.assign(globalThis, { told })
      const { EventSource } = globalThis as unknown as { readonly EventSource: new (url: string) => Source }
      new EventSource(url!).addEventListener('append', ({ data }) => told.push(...(JSON.parse(data) as { events: unknown[] }).events))
    }, [`${proxy.url}/sessions/${id}/events?access_token=${TOKEN}`])
    const told = (): Promise<SessionEvent[]> => page.evaluate(() => (globalThis as unknown as { told: SessionEvent[] }).told)
    const ends = async (): Promise<number> => (await told()).filter(({ type }) => type === 'turn/end').length
    await one.json('POST', `/sessions/${id}/prompt`, { prompt: 'Hi' })
    await until(async () => await ends() === 1)
    proxy.cut()
    await one.json('POST', `/sessions/${id}/prompt`, { prompt: 'And?' })
    await until(async () => await ends() === 2)
    await one.stop()
    const two = await app({ script, setup, store: one.store })
    proxy.target = (await two.listen()).url
    await two.json('POST', `/sessions/${id}/prompt`, { prompt: 'Then?' })
    await until(async () => await ends() === 3)
    const log = await two.events(id)
    expect(await told()).toEqual(log.slice(0, (await told()).length))
    await page.close()
  })

  it('of a page of another origin is told nothing, nor is its fetch', async () => {
    const one = await app()
    const id = await one.create()
    const { url } = await one.listen()
    const page = await browser.newPage()
    await page.goto('data:text/html,<title>elsewhere</title>')
    const read = await page.evaluate(async ([at, token]) => {
      const headers = { authorization: `Bearer ${token!}` }
      return Promise.all([fetch(`${at!}/sessions`, { headers }), fetch(`${at!}/sessions?access_token=${token!}`)].map((asked) => asked.then((response) => response.text(), () => 'refused')))
    }, [url, TOKEN])
    expect(read).toEqual(['refused', 'refused'])
    expect((await one.json('GET', `/sessions/${id}`)).status).toBe(200)
    await page.close()
  })
})
