import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { root } from '../rules/workspace.ts'

/** The first block of code below a heading of a Markdown text. @throws Error where there is none */
export function blockBelow(markdown: string, heading: string): string {
  const [, below] = markdown.split(`\n## ${heading}\n`)
  const [, block] = /\n```[jt]s\n(.*?)\n```/s.exec(below?.split('\n## ')[0] ?? '') ?? []
  if (block === undefined) throw new Error(`there is no block of code under "## ${heading}"`)
  return block
}

export function readmeExample(): string {
  return blockBelow(readFileSync(`${root}README.md`, 'utf8'), 'An agent in ten lines')
}

/** As Node 20 can run it. */
export function withoutTypes(source: string): string {
  const compilerOptions = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true }
  return ts.transpileModule(source, { compilerOptions }).outputText
}
