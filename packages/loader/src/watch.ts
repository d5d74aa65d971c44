import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Debounce in milliseconds: an editor writes a file in several steps. */
const QUIET = 50

/**
 * Reports that some of its files may have changed. It watches their folders: an editor that replaces a file by a new one
 * would end a watch on the file itself.
 */
export class FileWatch {
  private readonly changed: () => void
  private readonly failed: (folder: string, error: unknown) => void
  private readonly folders = new Map<string, { readonly watcher: FSWatcher; readonly names: Set<string> }>()
  private timer: ReturnType<typeof setTimeout> | undefined
  private closed = false

  constructor(changed: () => void, failed: (folder: string, error: unknown) => void) {
    this.changed = changed
    this.failed = failed
  }

  /** Watches these files too, until it is closed. */
  follow(files: Iterable<string>): void {
    if (this.closed) return
    for (const file of files) {
      const folder = dirname(file)
      const known = this.folders.get(folder)
      if (known) {
        known.names.add(basename(file))
        continue
      }
      const names = new Set([basename(file)])
      try {
        const watcher = watch(folder, (_, name) => {
          if (name === null || names.has(name)) this.soon()
        })
        watcher.on('error', (error) => {
          this.folders.delete(folder)
          this.failed(folder, error)
        })
        this.folders.set(folder, { watcher, names })
      } catch (error) {
        this.failed(folder, error)
      }
    }
  }

  private soon(): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(this.changed, QUIET)
  }

  close(): void {
    this.closed = true
    clearTimeout(this.timer)
    for (const { watcher } of this.folders.values()) watcher.close()
    this.folders.clear()
  }
}
