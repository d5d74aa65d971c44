import ts from 'typescript'
import { root } from '../rules/workspace.ts'
import { type Block, CODE } from './blocks.ts'
import { placeOf, toModule } from './fragment.ts'

/** Sources and libraries, which are the same in every program. */
const parsed = new Map<string, ts.SourceFile>()

/** What the compiler says of each block, by id: all of them in one program, against the sources of the workspace. */
export function compileBlocks(blocks: readonly Block[]): ReadonlyMap<string, readonly string[]> {
  const code = new Map(blocks.filter(({ language }) => CODE.includes(language)).map((block) => [placeOf(block), block]))
  const textOf = (path: string): string => toModule(code.get(path)!)
  const options = readOptions()
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (path) => code.has(path) || fileExists(path)
  host.readFile = (path) => code.has(path) ? textOf(path) : readFile(path)
  host.getSourceFile = (path, version, ...rest) => {
    if (code.has(path)) return ts.createSourceFile(path, textOf(path), version)
    const file = parsed.get(path) ?? getSourceFile(path, version, ...rest)
    if (file) parsed.set(path, file)
    return file
  }
  const program = ts.createProgram([...code.keys()], options, host)
  return new Map([...code].map(([path, block]) => [block.id, problemsOf(program, program.getSourceFile(path)!, block)]))
}

function problemsOf(program: ts.Program, file: ts.SourceFile, block: Block): readonly string[] {
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(({ start, messageText }) => {
    const line = block.line + file.getLineAndCharacterOfPosition(start ?? 0).line
    return `${block.page}:${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
  })
}

/** As the tests are compiled, but a block may show a name that it does not use. */
function readOptions(): ts.CompilerOptions {
  const file = `${root}.config/tsconfig.tests.json`
  const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(file, (path) => ts.sys.readFile(path)).config, ts.sys, `${root}.config`)
  return { ...options, noUnusedLocals: false, noUnusedParameters: false, checkJs: true, incremental: false, typeRoots: [`${root}node_modules/@types`] }
}
