import { existsSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { root } from '../rules/workspace.ts'
import type { Block } from './blocks.ts'

/**
 * A page that shows three lines takes the rest as known: `ctx` is a context, `z` is Zod. What a block mentions and does not say itself
 * comes from here, so that no page has to say it again.
 */
const IMPORTS: Readonly<Record<string, string>> = {
  z: `import { z } from 'zod'`,
  Context: `import type { Context } from 'headrace'`,
  readFile: `import { readFile } from 'node:fs/promises'`,
  expect: `import { expect } from 'vitest'`,
  it: `import { it } from 'vitest'`,
}

/** The types of values that the test has, where it runs the block. */
const VALUES: Readonly<Record<string, string>> = {
  ctx: `import('headrace').Context`,
  agent: `import('@headrace/agent').Agent`,
  clock: `import('cordis').Plugin`,
  tone: `import('cordis').Plugin`,
  myAdapter: `import('@headrace/agent').Adapter`,
  today: 'string', branch: 'string', notes: 'string | undefined',
  prompts: `Parameters<typeof import('@headrace/model-server').simulateCache>[1]`,
  request: `import('@headrace/message').Request`,
  usage: `import('@headrace/message').Usage`,
  context: `import('@headrace/run-context').RunContext`,
  carrier: `(digest: string) => number | undefined`,
  bodyOf: `(seq: number, digest: string) => string`,
  createAnthropic: `(options: { fetch: typeof fetch }) => (name: string) => import('@headrace/plugin-ai-sdk').LanguageModel`,
}

/**
 * Where a block stands for the compiler and for what it imports: beside its README. What is nobody's README has the
 * dependencies of headrace.
 */
export function placeOf({ page, line, language }: Block): string {
  const folder = /^(packages|plugins|examples)\/[^/]+\//.exec(page)?.[0] ?? 'packages/headrace/'
  return `${root}${folder}${page.replaceAll('/', '.')}.${line}.${language}`
}

/** What a block leaves open. */
export interface Fragment {
  /** Imports that it takes for granted. */
  readonly imports: readonly string[]
  /** Values that it takes for granted, by name. */
  readonly values: readonly string[]
  /** What it declares at its top. */
  readonly declared: readonly string[]
}

export function fragmentOf(block: Block): Fragment {
  const { declared, unresolved } = resolveNames(block)
  const open = (names: readonly string[]): readonly string[] => names.filter((name) => unresolved.has(name))
  return {
    declared,
    values: open(Object.keys(VALUES)),
    imports: [...open(Object.keys(IMPORTS)).map((name) => IMPORTS[name]!), ...ownExports(block, open)],
  }
}

/** A README speaks of what its own package exports. */
function ownExports({ page, text }: Block, open: (names: readonly string[]) => readonly string[]): readonly string[] {
  const manifest = `${root}${page.replace('README.md', 'package.json')}`
  if (!page.includes('/README.md') || !existsSync(manifest)) return []
  const { name } = JSON.parse(readFileSync(manifest, 'utf8')) as { name: string }
  if (text.includes(`from '${name}'`)) return []
  const lists = readFileSync(manifest.replace('package.json', 'src/index.ts'), 'utf8').match(/(?<=\{)[^}]*(?=\})/g) ?? []
  const names = open(lists.flatMap((list) => list.match(/\b(?!type\b|as\b|default\b)[A-Za-z]\w+/g) ?? []))
  return names.length === 0 ? [] : [`import { ${[...new Set(names)].join(', ')} } from '${name}'`]
}

/** The compiler's word on which names a block uses and does not declare, globals among them. */
function resolveNames(block: Block): { readonly declared: readonly string[]; readonly unresolved: ReadonlySet<string> } {
  const path = placeOf(block)
  const file = ts.createSourceFile(path, `${block.text}\nexport {}`, ts.ScriptTarget.ES2023)
  const host: ts.CompilerHost = { ...ts.createCompilerHost({}), getSourceFile: (name) => name === path ? file : undefined }
  const options = {
    noLib: true,
    noResolve: true,
    types: [],
    allowJs: true,
    checkJs: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
  }
  const program = ts.createProgram([path], options, host)
  const named = program.getSemanticDiagnostics(file).map(({ start, length }) => file.text.slice(start, start! + length!))
  return { declared: file.statements.flatMap(namesOf), unresolved: new Set(named) }
}

function namesOf(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.flatMap(({ name }) => namesIn(name))
  if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) return statement.name ? [statement.name.text] : []
  if (!ts.isImportDeclaration(statement) || !statement.importClause) return []
  const { name, namedBindings } = statement.importClause
  const named =
    namedBindings &&
    (ts.isNamespaceImport(namedBindings) ? [namedBindings.name] : namedBindings.elements.map((element) => element.name))
  return [...name ? [name.text] : [], ...(named ?? []).map(({ text }) => text)]
}

function namesIn(name: ts.BindingName): readonly string[] {
  return ts.isIdentifier(name)
    ? [name.text]
    : name.elements.flatMap((element) => (ts.isOmittedExpression(element) ? [] : namesIn(element.name)))
}

/** The block as a module, its lines where they were. */
export function toModule(block: Block): string {
  const { imports, values } = fragmentOf(block)
  return [block.text, ...imports, ...values.map((name) => `declare const ${name}: ${VALUES[name]!}`), 'export {}', ''].join('\n')
}
