import { createRequire } from 'node:module'
import { runInThisContext } from 'node:vm'
import ts from 'typescript'
import type { Block } from './blocks.ts'
import { fragmentOf, placeOf } from './fragment.ts'

export type Values = Readonly<Record<string, unknown>>

/**
 * Runs a block, as it stands on its page, in this process: `values` are what it takes for granted, `replaced` are modules to import in
 * the place of others. Gives what it exports and declares at its top. @throws what the block throws
 */
export async function runBlock(block: Block, values: Values = {}, replaced: Values = {}): Promise<Record<string, unknown>> {
  const { imports, values: open, declared } = fragmentOf(block)
  const missing = open.filter((name) => !(name in values))
  if (missing.length > 0) throw new Error(`${block.id} takes ${missing.join(', ')} for granted; give it to runBlock()`)
  const source = [...imports, block.text].join('\n')
  const modules = new Map<string, unknown>()
  for (const { fileName } of ts.preProcessFile(source).importedFiles)
    modules.set(fileName, replaced[fileName] ?? (await load(fileName, placeOf(block))))
  // What is exported is not a variable any more.
  const top = declared.map((name) => `get ${name}() { try { return ${name} } catch {} }`)
  const body = `(async (exports, require, ${open.join(', ')}) => { ${transpile(source)}\nreturn { ${top.join(', ')} } })`
  const run = runInThisContext(body, { filename: `${block.page}:${block.line}` }) as (...args: unknown[]) => Promise<Record<string, unknown>>
  const exports: Record<string, unknown> = {}
  const variables = await run(exports, (name: string) => modules.get(name), ...open.map((name) => values[name]))
  return { ...variables, ...exports }
}

function transpile(source: string): string {
  const compilerOptions = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.CommonJS, esModuleInterop: true, isolatedModules: true }
  return ts.transpileModule(source, { compilerOptions }).outputText
}

/** A module as CommonJS takes it. Ours are the sources, by the aliases of the tests. */
async function load(name: string, from: string): Promise<unknown> {
  const isOurs = /^(@headrace\/|headrace$)/.test(name)
  const path = isOurs || /^node:|^(cordis|vitest|zod)$/.test(name) ? name : createRequire(from).resolve(name)
  return { ...await import(path) as object, __esModule: true }
}
