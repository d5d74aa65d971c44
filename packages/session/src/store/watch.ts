import { type FSWatcher, watch } from 'node:fs'

/** How a path is watched. */
export interface WatchOptions {
  /** How often it is looked at where the system tells nothing, in milliseconds. */
  readonly every: number
  /** Keeps the process alive meanwhile. */
  readonly keepAlive?: boolean
}

/**
 * Calls back when a file or a folder may have changed, by whatever process: as soon as the system tells, and every so often where it
 * does not, as on a network disk, or where there is nothing at that path yet. Returns the call that ends it.
 */
export function watchPath(path: string, onChange: () => void, { every, keepAlive = false }: WatchOptions): () => void {
  let watcher: FSWatcher | undefined
  const disarm = (): void => {
    watcher?.close()
    watcher = undefined
  }
  const arm = (): void => {
    if (watcher) return
    try {
      watcher = watch(path, { persistent: false }, (type) => {
        // It may be another file by now, and this one gone.
        if (type === 'rename') {
          disarm()
          arm()
        }
        onChange()
      }).on('error', disarm)
    } catch {
      // Nothing there, or no more watchers to be had: then by the clock.
    }
  }
  arm()
  const timer = setInterval(() => {
    arm()
    onChange()
  }, every)
  if (!keepAlive) timer.unref()
  return () => {
    clearInterval(timer)
    disarm()
  }
}
