import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Import, importsOf } from './imports.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))

type Versions = Readonly<Record<string, string>>

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly author?: string
  readonly repository?: { readonly type: string; readonly url: string }
  readonly homepage?: string
  readonly bugs?: string
  readonly type?: string
  readonly description?: string
  readonly sideEffects?: boolean | readonly string[]
  readonly engines?: Versions
  readonly files?: readonly string[]
  readonly keywords?: readonly string[]
  readonly bin?: Versions
  readonly scripts?: Versions
  readonly exports?: Readonly<Record<string, string | { readonly types: string, readonly default: string }>>
  readonly dependencies?: Versions
  readonly devDependencies?: Versions
  readonly peerDependencies?: Versions
}

/** A package of the workspace: `packages/message`, `plugins/skills`, `examples/hello`. */
export class Package {
  readonly place: string
  readonly manifest: Manifest

  constructor(place: string) {
    this.place = place
    this.manifest = this.json('package.json') as Manifest
  }

  get folder(): string {
    return this.place.slice(this.place.indexOf('/') + 1)
  }

  get isPlugin(): boolean {
    return this.place.startsWith('plugins/')
  }

  has(file: string): boolean {
    return existsSync(`${root}${this.place}/${file}`)
  }

  text(file: string): string {
    return readFileSync(`${root}${this.place}/${file}`, 'utf8')
  }

  json(file: string): unknown {
    return JSON.parse(this.text(file))
  }

  /** What the TypeScript below a folder imports, with files relative to the package. */
  imports(folder: 'src' | 'tests'): Import[] {
    if (!this.has(folder)) return []
    return readdirSync(`${root}${this.place}/${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => importsOf(`${root}${this.place}/${folder}/${file}`).map((found) => ({ ...found, file: `${folder}/${file}` })))
  }

  /** The peers of an installed dependency, as its own manifest tells them. */
  peersOf(dependency: string): string[] {
    const manifest = `node_modules/${dependency}/package.json`
    return this.has(manifest) ? Object.keys((this.json(manifest) as Manifest).peerDependencies ?? {}) : []
  }
}

function packagesIn(folder: string): Package[] {
  return readdirSync(`${root}${folder}`).map((name) => new Package(`${folder}/${name}`))
}

/** What is published. */
export const published = [...packagesIn('packages'), ...packagesIn('plugins')]

export const rootManifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as Manifest

/** The catalog of pnpm-workspace.yaml. */
export function catalog(): Versions {
  const [, block] = /^catalog:\n((?: .*\n)+)/m.exec(readFileSync(`${root}pnpm-workspace.yaml`, 'utf8')) ?? []
  return Object.fromEntries(block!.trim().split('\n').map((line) => line.split(': ').map((word) => word.trim().replaceAll('\'', ''))))
}
