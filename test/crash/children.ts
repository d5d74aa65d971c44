import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Orders } from './child.ts'
import type { Ack } from './watched.ts'

const child = fileURLToPath(new URL('lib/child.js', import.meta.url))

/** How a child ended. */
export interface End {
  readonly killed: boolean
  readonly out: string
}

/** Runs a child; for a point in time, kills it so many milliseconds after its session was there. */
export function start(orders: Orders): Promise<End> {
  const { point } = orders
  const running = spawn(process.execPath, [child, JSON.stringify(orders)], { stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  running.stdout.on('data', () => {
    // oxlint-disable-next-line headrace/no-sleep -- at any time, whatever it is doing then
    if (point?.at === 'time') timer ??= setTimeout(() => running.kill('SIGKILL'), point.wait)
  })
  running.stderr.on('data', (data: Buffer) => (out += data.toString()))
  return new Promise((resolve) => running.on('close', (_code, signal) => {
    clearTimeout(timer)
    resolve({ killed: signal === 'SIGKILL', out })
  }))
}

/** What a side file holds. */
export function acksOf(side: string): readonly Ack[] {
  return readFileSync(side, 'utf8').split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as Ack)
}
