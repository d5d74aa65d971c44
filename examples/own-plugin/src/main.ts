import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Context } from 'cordis'
import headrace from 'headrace'
import { endpoint } from './endpoint.ts'
import * as runbook from './runbook.ts'

const { model, baseURL, close } = await endpoint()
const cwd = mkdtempSync(join(tmpdir(), 'headrace-own-plugin-'))
writeFileSync(join(cwd, 'RUNBOOK.md'), 'The pump: close the valve, then restart it. Only the person on call does it.\n')

const ctx = new Context()
await ctx.plugin(headrace, { model, baseURL, store: false })
await ctx.plugin(runbook)

const agent = await ctx.agents.create({ cwd })
const { error } = await agent.prompt('The pump stands still.').result
for (const { message, owner } of agent.session.entries()) {
  for (const block of message.content) {
    if (block.type === 'text') process.stdout.write(`${owner.padEnd(26)} ${block.text.trim()}\n`)
    if (block.type === 'tool-call') process.stdout.write(`${owner.padEnd(26)} → ${block.name} ${block.arguments}\n`)
    if (block.type === 'tool-result') process.stdout.write(`${owner.padEnd(26)} ← ${block.content.map((part) => (part.type === 'text' ? part.text : '')).join('')}\n`)
  }
}
process.stdout.write(`\npages.log: ${readFileSync(join(cwd, 'pages.log'), { encoding: 'utf8', flag: 'a+' })}`)
if (error) process.stderr.write(`own-plugin: ${error.message}\n`)
process.exitCode = error ? 1 : 0

await ctx.fiber.dispose()
await close()
rmSync(cwd, { recursive: true, force: true })
