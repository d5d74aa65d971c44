import { execFile } from 'node:child_process'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Milliseconds for Node to read one file. */
const LIMIT = 5_000

/**
 * Where a syntax error stands, as `./clock.js:3` from the app's folder. What `import()` throws for a module of ES does not say, so Node is
 * asked to read the files, and to run none of them.
 *
 * @param files of the module and those that it imports
 */
export async function syntaxPlace(error: SyntaxError, files: Iterable<string>, app: string): Promise<string | undefined> {
  const own = placeIn(error.stack ?? '', app)
  if (own !== undefined) return own
  for (const file of files) {
    const place = placeIn(await complaintOf(file), app)
    if (place !== undefined) return place
  }
  return undefined
}

function complaintOf(file: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--check', file], { timeout: LIMIT }, (_error, _stdout, stderr) => resolve(stderr))
  })
}

/** Node's first line of a syntax error is `path:line`, or a file's URL so. */
function placeIn(text: string, app: string): string | undefined {
  const [, file, line] = /^((?:file:\/\/|\/|[A-Za-z]:\\).*?)(?:\?[^:\n]*)?:(\d+)\n/.exec(text) ?? []
  if (file === undefined) return undefined
  const path = file.startsWith('file:') ? fileURLToPath(file) : file
  const near = relative(dirname(app), path)
  return `${near.startsWith('..') ? path : `./${near}`}:${line}`
}
