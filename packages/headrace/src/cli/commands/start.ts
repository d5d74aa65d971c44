import { bootFile, shutDown } from '../base/app.ts'
import { DONE } from '../base/error.ts'
import { Interrupts } from '../base/interrupts.ts'
import type { Terminal } from '../show/terminal.ts'

export interface StartOptions {
  readonly watch?: true
  readonly debug?: true
}

/** Milliseconds of a timer that keeps the process alive. */
const LONG = 1_000_000_000

/** `headrace start`: boots the app of a file, and stays until it is told to stop. Returns the exit code: 0 after a clean end. */
export async function start(file: string, options: StartOptions, terminal: Terminal): Promise<number> {
  const interrupts = new Interrupts(() => terminal.note('headrace: stopping; Ctrl-C once more leaves at once'))
  const alive = setInterval(() => undefined, LONG)
  try {
    const { ctx, loader } = await bootFile(file, { watch: options.watch === true }, terminal, options.debug === true)
    ctx.on('loader/report', ({ kind, entry, message }) => {
      if (kind === 'changed') terminal.note(`headrace: ${entry} ${message}`)
    })
    terminal.note(`headrace: ${file} runs: ${loader.entries.map(({ id }) => id).join(', ') || 'no entries'}${options.watch ? '; it is watched' : ''}`)
    await aborted(interrupts.signal)
    await loader.stop()
    await shutDown(ctx, terminal)
    return DONE
  } finally {
    clearInterval(alive)
    interrupts.stop()
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
