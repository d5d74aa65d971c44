const tails = new Map<string, Promise<void>>()

/** Runs `work` when nobody else in this process works on the file: two agents on one workspace must not lose an edit. */
export async function withFileLock<T>(real: string, work: () => Promise<T>): Promise<T> {
  const before = tails.get(real)
  let release = (): void => {}
  const tail = new Promise<void>((resolve) => { release = resolve })
  tails.set(real, tail)
  try {
    await before
    return await work()
  } finally {
    release()
    if (tails.get(real) === tail) tails.delete(real)
  }
}
