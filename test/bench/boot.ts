import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Measure, timed } from './measure.ts'

const HEADRACE = join(dirname(createRequire(import.meta.url).resolve('headrace/package.json')), 'bin', 'headrace.js')

/**
 * From the start of the process to the first request of a fresh session at its model, with the usual set; against the
 * start of Node alone.
 */
export function bootMeasures(folder: string): readonly Measure[] {
  const cwd = join(folder, 'boot')
  mkdirSync(cwd)
  return [
    { key: 'boot', title: '`headrace run` in an empty folder, until its first request is at the model', unit: 'ms', sample: () => firstRequest(cwd) },
    { key: 'boot-node', title: '`node -e 0`, from its start to its end', unit: 'ms', sample: () => timed(() => exit(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }))) },
  ]
}

async function firstRequest(cwd: string): Promise<number> {
  let arrived = 0
  const server = createServer((request, response) => {
    arrived ||= performance.now()
    request.resume()
    response.writeHead(401).end('{"error":{"message":"this is a bench"}}')
  })
  const url = await listening(server)
  const start = performance.now()
  const env = { ...process.env, HEADRACE_API_KEY: 'none', XDG_STATE_HOME: join(cwd, '..', 'boot-state') }
  await exit(spawn(process.execPath, [HEADRACE, 'run', 'Hello', '--model', 'scripted', '--base-url', url], { cwd, env, stdio: 'ignore' }))
  await new Promise((resolve) => server.close(resolve))
  if (arrived === 0) throw new Error('no request arrived')
  return arrived - start
}

function listening(server: Server): Promise<string> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)))
}

function exit(child: ReturnType<typeof spawn>): Promise<void> {
  return new Promise((resolve, reject) => void child.once('error', reject).once('close', () => resolve()))
}
