import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PROVIDERS, type Target, targetOf } from './providers.ts'
import { startRelay } from './relay.ts'
import { type Came, runSession } from './session.ts'

type Env = Readonly<Record<string, string | undefined>>

/** `npm run e2e`: one session with each provider whose key is set. Costs a few cents. Never in CI. Returns the exit code. */
export async function main(env: Env, print: (line: string) => void = console.log, pause = 1_000): Promise<number> {
  const targets: Target[] = []
  for (const provider of PROVIDERS) {
    const target = targetOf(provider, env)
    if (target) targets.push(target)
    else print(`${provider.name}: skipped, no key (${provider.key})`)
  }
  if (targets.length === 0) print('Nothing was tried: set the key of a provider.')
  const relay = await startRelay(new Map(targets.map(({ name, baseURL }) => [name, baseURL])), pause)
  const directory = mkdtempSync(join(tmpdir(), 'headrace-e2e-'))
  let failed = 0
  try {
    for (const target of targets) {
      try {
        print(`${target.name}/${target.model}: ${wordsOf(await runSession(target, targets, relay, join(directory, target.name), pause))}`)
      } catch (error) {
        failed++
        print(`${target.name}/${target.model}: FAILED ${(error as Error).message}`)
      }
    }
  } finally {
    await relay.close()
    rmSync(directory, { recursive: true, force: true })
  }
  return failed > 0 ? 1 : 0
}

function wordsOf({ turns, requests, usage, cost, notes }: Came): string {
  const price = cost === undefined ? '' : `, $${cost.toFixed(4)}`
  return [`ok: ${turns} turns, ${requests} requests proven on the wire, ${usage.input} tokens in (${usage.cached} cached), ${usage.output} out${price}`, ...notes].join('; ')
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) process.exitCode = await main(process.env)
