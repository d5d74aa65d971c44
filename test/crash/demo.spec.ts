import type { ChildProcess } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createModelServer } from '@headrace/model-server'
import { figure } from '../reliability/figures.ts'
import { PROMPT, type Project, demoScript, makeProject, startHeadrace } from '../../examples/demo/src/index.ts'
import { amount, seeded } from '../scale.ts'

// One in five: kills.spec.ts kills more, and more precisely; these go through the real command.
const KILLS = Math.ceil(Number(process.env.HEADRACE_CRASH_KILLS ?? amount(10, 50, 1_000)) / 5)
const LANES = 2

interface Run {
  readonly code: number | null
  readonly out: string
}

const hasLog = ({ state }: Project): boolean => existsSync(join(state, 'headrace', 'sessions')) && readdirSync(join(state, 'headrace', 'sessions')).some((name) => name.endsWith('.jsonl'))

/**
 * Runs the real command, built; kills it with SIGKILL so many milliseconds after its log is there, where that is given;
 * before it for a negative number.
 */
function headrace(project: Project, args: readonly string[], killAfter?: number): Promise<Run> {
  const child: ChildProcess = startHeadrace(project, args, { stdio: 'pipe' })
  let out = ''
  child.stdout!.on('data', (data: Buffer) => (out += data.toString()))
  child.stderr!.on('data', (data: Buffer) => (out += data.toString()))
  let timer: ReturnType<typeof setTimeout> | undefined
  // oxlint-disable-next-line headrace/no-sleep -- at any time, whatever it is doing then
  const killIn = (wait: number): void => void (timer = setTimeout(() => child.kill('SIGKILL'), wait))
  const watch = killAfter === undefined ? undefined : setInterval(() => {
    if (timer || (killAfter >= 0 && !hasLog(project))) return
    killIn(Math.abs(killAfter))
  }, 2)
  return new Promise((resolve) => child.on('close', (code) => {
    clearInterval(watch)
    clearTimeout(timer)
    resolve({ code, out })
  }))
}

/**
 * How long the whole job takes here and now, and its beginning, until there is a log: kills are spread over the rest,
 * with a few before.
 */
async function measure(url: string): Promise<{ readonly boot: number; readonly whole: number }> {
  const project = makeProject()
  const start = performance.now()
  let boot = 0
  const watch = setInterval(() => {
    if (boot === 0 && hasLog(project)) boot = performance.now() - start
  }, 5)
  try {
    const { code, out } = await headrace(project, ['run', PROMPT, '--yes', '--model', 'scripted', '--base-url', url])
    expect(code, out).toBe(0)
    return { boot, whole: performance.now() - start }
  } finally {
    clearInterval(watch)
    project.remove()
  }
}

describe('kill -9 at random moments of the demo', () => {
  it(`${KILLS} times: the log verifies, and --continue finishes the job or says that nothing was acknowledged`, async () => {
    // The server outlives them all.
    const server = await createModelServer(demoScript({ delay: 5 }))
    const model = ['--yes', '--model', 'scripted', '--base-url', server.url]
    const outcomes = { finished: 0, nothing: 0, tooLate: 0 }
    const { boot, whole } = await measure(server.url)
    const random = seeded()
    let started = 0
    const lane = async (): Promise<void> => {
      while (started < KILLS) {
        // One in ten while it starts, the others spread over the job.
        const moment = started++ % 10 === 0 ? -random() * boot : (started / KILLS) * (whole - boot)
        const project = makeProject()
        const what = `killed after ${Math.round(moment)} of ${Math.round(whole)} ms`
        try {
          const killed = await headrace(project, ['run', PROMPT, ...model], moment)
          if (killed.code === 0) outcomes.tooLate++
          if (!hasLog(project)) {
            outcomes.nothing++
            continue
          }
          // A second kill, on the way to the end.
          if (random() < 0.3) await headrace(project, ['run', '--continue', ...model], random() * whole)
          const rest = await headrace(project, ['run', '--continue', ...model])
          const verified = await headrace(project, ['verify', 'last'])
          if (/nothing was acknowledged/.test(rest.out)) {
            outcomes.nothing++
            continue
          }
          expect(verified.code, `${what}: ${verified.out}`).toBe(0)
          expect(rest.code === 0 || /nothing is left open|nothing was left open/.test(rest.out), `${what}: ${rest.out}`).toBe(true)
          expect(project.passes(), `${what}: the job is not done: ${rest.out}`).toBe(true)
          outcomes.finished++
        } finally {
          project.remove()
        }
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    expect(server.refused, 'a conversation that a provider would refuse').toEqual([])
    await server.close()
    // The kills hit the job, not only its beginning and end.
    expect(outcomes.finished, JSON.stringify(outcomes)).toBeGreaterThan(Math.floor(KILLS / 2) - 1)
    console.info(`${KILLS} kills: ${JSON.stringify(outcomes)}`)
    figure('crash', 'headrace run', { kills: outcomes.finished + outcomes.nothing })
  }, 600_000)
})

