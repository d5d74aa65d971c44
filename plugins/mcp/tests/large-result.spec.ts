import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { World } from './kit.ts'

const PROGRAM = fileURLToPath(new URL('fixtures/large-result.mjs', import.meta.url))

interface Measured {
  readonly peak: number
  readonly log: number
  readonly heap: number
  readonly results: readonly string[]
}

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => world.remove())

async function measured(size: number, maxMessage: number): Promise<Measured> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', PROGRAM, world.base, String(size), String(maxMessage)])
  return JSON.parse(stdout) as Measured
}

it('a result of 400 MB ends the connection before it is in memory, the model is told why, and the next call goes on', async () => {
  const { peak, log, results } = await measured(400_000_000, 16_000_000)
  expect(results).toEqual(['hi', 'The MCP server "own" answered with more than 16000000 bytes, which were dropped. The call may have had its effect.', 'hi'])
  // Less than the result alone, which would stand there several times over; how much less is the garbage collector's.
  expect(peak).toBeLessThan(400_000_000)
  expect(log).toBeLessThan(50_000)
})

it('where such messages are allowed, what is kept of it is bounded', async () => {
  const { log, heap, results } = await measured(30_000_000, 300_000_000)
  expect(results).toEqual(['hi', 'x'.repeat(200), 'hi'])
  expect(log).toBeLessThan(300_000)
  expect(heap).toBeLessThan(80_000_000)
})
