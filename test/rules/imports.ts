import { readFileSync } from 'node:fs'
import ts from 'typescript'

/** One import of a module: by a statement, `import()`, or a type's `import('…')`. */
export interface Import {
  readonly file: string
  readonly specifier: string
  /** Gone at run time. */
  readonly typeOnly: boolean
}

/** Everything a source file imports. */
export function importsOf(file: string): Import[] {
  return importsIn(file, readFileSync(file, 'utf8'))
}

export function importsIn(file: string, text: string): Import[] {
  const found: Import[] = []
  const add = (node: ts.Node | undefined, typeOnly: boolean) => {
    if (node && ts.isStringLiteralLike(node)) found.push({ file, specifier: node.text, typeOnly })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly)
    else if (ts.isImportTypeNode(node)) add(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined, true)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) add(node.arguments[0], false)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.ESNext))
  return found
}

/** The package of a bare specifier: `@a/b/c.js` is of `@a/b`; nothing for a relative one and for Node's own. */
export function packageOf(specifier: string): string | undefined {
  if (/^(\.|node:)/.test(specifier)) return undefined
  return specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
}

/** Whether a module only passes on what others define. */
export function onlyReexports(text: string): boolean {
  return ts.createSourceFile('index.ts', text, ts.ScriptTarget.ESNext).statements.every((statement) => {
    if (ts.isImportDeclaration(statement)) return statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
    return ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined
  })
}
