import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createModelServer } from '@headrace/model-server'
import { Context } from 'cordis'
import headrace from 'headrace'
import { script } from './script.ts'

const say = (text = ''): void => void process.stdout.write(`${text}\n`)
const root = mkdtempSync(join(tmpdir(), 'headrace-substitute-models-'))
process.env.XDG_STATE_HOME = root
const server = await createModelServer(script)
say(`The models are SCRIPTED, by a small program at ${server.url}. Everything else is real.\n`)

const ctx = new Context()
await ctx.plugin(headrace, {
  model: 'main/large',
  providers: { main: { baseURL: server.url }, spare: { baseURL: server.url } },
  // Two attempts on its own model, then the others in order.
  retry: { attempts: 2, base: 50, substitutes: ['spare/medium', 'spare/small'] },
})
const agent = await ctx.agents.create({ cwd: root })
agent.session.on('event', (event) => {
  if (event.type === 'request/end' && event.data.error) say(`  ${event.data.error.kind}: ${event.data.error.message}`)
  if (event.type === 'retry/again') say(`  again${event.data.substitute === undefined ? `, after ${event.data.delay} ms` : ` with ${event.data.substitute}`}`)
})
let failed = false
for (const prompt of ['Are you there?', 'This is long.', 'And now?']) {
  say(`> ${prompt}`)
  const { text, error } = await agent.prompt(prompt).result
  say(error ? error.message : text)
  failed ||= error !== undefined
}
await ctx.fiber.dispose()
await server.close()

// Which model each request went to, from the log alone.
const command = join(dirname(createRequire(import.meta.url).resolve('headrace/package.json')), 'bin', 'headrace.js')
for (const request of ['1.1.1', '1.1.3', '1.1.4', '2.2.2', '3.1.1']) {
  say(`\n$ headrace explain last ${request}`)
  const { stdout, stderr, status } = spawnSync(process.execPath, [command, 'explain', 'last', request], { cwd: root, encoding: 'utf8' })
  say(`${stdout.split('\nsystem\n')[0]}…\n${stdout.slice(stdout.indexOf('\nheader')).trim()}${stderr}`)
  failed ||= status !== 0
}
rmSync(root, { recursive: true, force: true })
process.exitCode = failed ? 1 : 0
