import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Diagnostic, DiagnosticCode, Found, InstructionFiles, InstructionText } from './instruction-file.ts'

/** Candidate files, of which the first that holds text is told, and the reader for it and its imports. */
export interface Place {
  readonly candidates: readonly string[]
  readonly reader: InstructionFiles
}

/** A file that is told. */
export interface Part {
  readonly file: InstructionText
  /** Path of the file that imports it. */
  readonly importedBy?: string
}

/** Files from the most general to the most specific, each text once; imports come before the file that imports them. */
export interface Gathering {
  readonly parts: readonly Part[]
  readonly diagnostics: readonly Diagnostic[]
  /** All that was checked: as long as it is the same, so is the result. */
  readonly looked: readonly Looked[]
}

export interface Looked {
  readonly path: string
  readonly reader: InstructionFiles
  readonly found: Found
}

export interface ImportLimits {
  readonly importDepth: number
  readonly importFiles: number
}

/** One check of the files as they are now; each file is checked once, whoever asks. */
export class Look {
  private readonly found = new Map<InstructionFiles, Map<string, Found | Promise<Found>>>()

  at(path: string, reader: InstructionFiles): Found | Promise<Found> {
    let paths = this.found.get(reader)
    if (!paths) this.found.set(reader, (paths = new Map<string, Found | Promise<Found>>()))
    if (!paths.has(path)) paths.set(path, reader.look(path))
    return paths.get(path)
  }

  /** Whether nothing changed since it was recorded. */
  isSame(looked: readonly Looked[]): boolean {
    return looked.every(({ path, reader, found }) => this.at(path, reader) === found)
  }
}

/** A check that records what it found. */
class Tracked {
  readonly looked: Looked[] = []
  private readonly look: Look

  constructor(look: Look) {
    this.look = look
  }

  async at(path: string, reader: InstructionFiles): Promise<Found> {
    const found = await this.look.at(path, reader)
    this.looked.push({ path, reader, found })
    return found
  }
}

/**
 * Gathers the files of some folders, the most general first.
 *
 * @param told digests of texts that are told elsewhere: imports among them are left out
 */
export async function gather(
  places: readonly Place[],
  look: Look,
  limits: ImportLimits,
  told: ReadonlySet<string> = NONE,
): Promise<Gathering> {
  const diagnostics: Diagnostic[] = []
  const tracked = new Tracked(look)
  const tops = await Promise.all(
    places.map(async ({ candidates, reader }) => ({ reader, ...(await firstText(candidates, reader, tracked)) })),
  )
  for (const top of tops) diagnostics.push(...top.diagnostics)
  const imports = new Imports(tracked, limits, diagnostics)
  const lists: Part[][] = []
  // The most specific first: shared imports belong to it, and it uses the limit of imports first.
  for (const { text, reader } of tops.toReversed()) if (text) lists.unshift(await imports.expand(text, reader))
  return {
    parts: once(lists.flat()).filter(({ file, importedBy }) => importedBy === undefined || !told.has(file.digest)),
    diagnostics,
    looked: tracked.looked,
  }
}

const NONE: ReadonlySet<string> = new Set()

interface First {
  readonly text?: InstructionText
  readonly diagnostics: readonly Diagnostic[]
}

async function firstText(candidates: readonly string[], reader: InstructionFiles, look: Tracked): Promise<First> {
  const diagnostics: Diagnostic[] = []
  for (const path of candidates) {
    const found = await look.at(path, reader)
    if (found && 'text' in found) return { text: found, diagnostics }
    if (found) diagnostics.push(found)
  }
  return { diagnostics }
}

/** The same text in two places is told in the more specific one. */
function once(parts: readonly Part[]): readonly Part[] {
  const last = new Map(parts.map(({ file }, index) => [file.digest, index]))
  return parts.filter(({ file }, index) => last.get(file.digest) === index)
}

/** The imports of one gathering. */
class Imports {
  private readonly look: Tracked
  private readonly limits: ImportLimits
  private readonly diagnostics: Diagnostic[]
  private readonly seen = new Set<string>()
  private readonly open: string[] = []
  private readonly asked = new Set<string>()

  constructor(look: Tracked, limits: ImportLimits, diagnostics: Diagnostic[]) {
    this.look = look
    this.limits = limits
    this.diagnostics = diagnostics
  }

  /** Adds a file after its imports. */
  async expand(file: InstructionText, reader: InstructionFiles, importedBy?: string): Promise<Part[]> {
    this.seen.add(file.real)
    this.open.push(file.real)
    const parts: Part[] = []
    for (const target of file.imports) {
      const path = target.startsWith('~/') ? join(homedir(), target.slice(2)) : resolve(dirname(file.real), target)
      if (this.mustStop(target, path, file)) break
      const imported = this.accept(await this.look.at(path, reader), target, file)
      if (imported) parts.push(...await this.expand(imported, reader, file.path))
    }
    this.open.pop()
    return [...parts, { file, ...(importedBy !== undefined && { importedBy }) }]
  }

  /** The limits count imports that are not found, too. */
  private mustStop(target: string, path: string, from: InstructionText): boolean {
    const { importDepth, importFiles } = this.limits
    const deep = this.open.length > importDepth
    const many = this.asked.size >= importFiles && !this.asked.has(path)
    if (deep) this.say('IMPORT_DEPTH', from.path, `imports ${target} and perhaps more, which is deeper than ${importDepth} imports, and is left out`)
    else if (many) this.say('IMPORT_LIMIT', from.path, `imports ${target} and perhaps more, beyond ${importFiles} files, and is left out`)
    else this.asked.add(path)
    return deep || many
  }

  /** What is found, unless it is told already. */
  private accept(found: Found, target: string, from: InstructionText): InstructionText | undefined {
    if (!found) this.say('IMPORT_MISSING', from.path, `imports ${target}, and there is no such file; write it as code if it is no import`)
    else if (!('text' in found)) this.say(found.code, found.path, `${found.problem} (imported by ${from.path})`)
    else if (this.open.includes(found.real)) this.say('IMPORT_CYCLE', from.path, `imports ${target}, which imports it in turn; it is told once`)
    else if (!this.seen.has(found.real)) return found
    return undefined
  }

  private say(code: DiagnosticCode, path: string, problem: string): void {
    this.diagnostics.push({ code, path, problem })
  }
}
