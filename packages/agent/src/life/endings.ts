/** What is called once, at the end of a life. */
export class Endings {
  private calls: (() => void)[] | undefined = []
  private readonly onError: (error: unknown) => void

  constructor(onError: (error: unknown) => void) {
    this.onError = onError
  }

  /** At once where the life has ended. */
  add(call: () => void): void {
    if (this.calls) this.calls.push(call)
    else this.guarded(call)
  }

  run(): void {
    const { calls = [] } = this
    this.calls = undefined
    for (const call of calls) this.guarded(call)
  }

  private guarded(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.onError(error)
    }
  }
}
