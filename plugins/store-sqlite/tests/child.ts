import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export const CHILD = fileURLToPath(new URL('child.mjs', import.meta.url))

/** A process of its own on the built store; `next()` gives its next line. */
export class Child {
  readonly process: ChildProcess
  private readonly lines: AsyncIterator<string>

  constructor(...args: readonly string[]) {
    this.process = spawn(process.execPath, [CHILD, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.lines = createInterface(this.process.stdout!)[Symbol.asyncIterator]()
    onTestFinished(() => void this.process.kill('SIGKILL'))
  }

  async next(): Promise<string | undefined> {
    const { value, done } = await this.lines.next()
    return done ? undefined : value
  }

  say(line: string): void {
    this.process.stdin!.write(`${line}\n`)
  }

  async kill(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once('close', resolve))
    this.process.kill('SIGKILL')
    await ended
  }
}
