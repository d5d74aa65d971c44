// Refuses to pack a package (its `prepack`) of which something was not compiled: its tarball would be empty, and nobody would be told.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Files that sources compile to, and that are not there. */
export function unbuilt(folder) {
  return readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .flatMap((file) => ['.js', '.d.ts'].map((extension) => join('lib', file.replace(/\.ts$/, extension))))
    .filter((file) => !existsSync(join(folder, file)))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const missing = unbuilt('.')
  if (missing.length > 0) {
    const { name } = JSON.parse(readFileSync('package.json', 'utf8'))
    console.error(`${name} is not compiled (${missing[0]} is not there): run "npm run build", or "npm run pack:all", in the root of the clone`)
    process.exit(1)
  }
}
