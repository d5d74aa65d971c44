import { readFileSync } from 'node:fs'

/** Of this package, and of every other of ours: they are published in step. */
export function version(): string {
  return (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }).version
}
