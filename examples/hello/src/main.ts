import { Context } from 'cordis'
import headrace from 'headrace'
import { endpoint } from './endpoint.ts'

const { model, baseURL, close } = await endpoint()

const ctx = new Context()
await ctx.plugin(headrace, { model, baseURL })
const agent = await ctx.agents.create({ cwd: process.cwd() })
const turn = agent.prompt(process.argv[2] ?? 'What is in this folder?')
for await (const event of turn) if (event.type === 'text') process.stdout.write(event.text)
const { error } = await turn.result
process.stdout.write('\n')
if (error) process.stderr.write(`hello: ${error.message}\n`)
process.exitCode = error ? 1 : 0

await ctx.fiber.dispose()
await close()
