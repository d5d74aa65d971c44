import * as desk from '@headrace/desk'
import { Context } from 'cordis'
import headrace from 'headrace'
import * as agentsHttp from './agents-http.ts'
import * as frontPage from './front-page.ts'
import { HttpService } from './http.ts'
import { stopOnSignals } from './life.ts'
import { sayWarnings } from './log.ts'
import { readSettings } from './settings.ts'

const say = (line: string): void => void process.stderr.write(`${line}\n`)

async function main(): Promise<void> {
  const settings = await readSettings(process.env)
  process.on('exit', settings.cleanUp)
  const ctx = new Context()
  stopOnSignals(ctx, say)

  // The app before it had agents.
  const sayAll = sayWarnings(ctx, say)
  await ctx.plugin(HttpService, settings.http)
  await ctx.plugin(frontPage)

  // What is new: agents, and who may talk to them.
  await ctx.plugin(headrace, settings.headrace)
  await ctx.plugin(desk, settings.desk)
  await ctx.plugin(agentsHttp, settings.agents)

  sayAll()
  if (settings.note) say(settings.note)
  say(`listening at ${ctx.http.url}`)
}

main().catch((error: unknown) => {
  const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
  say(`http-host: ${error instanceof Error ? error.message : String(error)}${isTaken ? '; say another port with HOST_PORT' : ''}`)
  process.exit(1)
})
