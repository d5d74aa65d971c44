/** Ends the process once what was printed is out: what a tool or a plugin left running must not hold it. */
export async function leave(code: number): Promise<never> {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.writable) await new Promise<void>((resolve) => stream.write('', () => resolve()))
  }
  process.exit(code)
}
