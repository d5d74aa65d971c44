import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const WORDS = ('the a request reads what parser keeps value line file test where server answers query before every index table holds row '
  + 'function returns list of names when cache misses and build writes output into folder then checks size with care').split(' ')

/** So many words that mean nothing, the same for the same seed; about as long as English. */
export function prose(seed: number, words: number): string {
  let state = seed + 1
  return Array.from({ length: words }, () => WORDS[(state = (state * 48_271) % 2_147_483_647) % WORDS.length]!).join(' ')
}

/**
 * Where the sessions work: a folder below the root of a repository, with instructions of its own and two folders below
 * it that have some.
 */
export const FOLDER = 'packages/server'
export const SOURCES: readonly string[] = ['src/parse.ts', 'src/http/route.ts', 'src/http/body.ts', 'src/index.ts', 'src/store/table.ts', 'src/store/row.ts', 'src/print.ts', 'src/cache.ts']

const commit = (digits: string): string => `${digits.repeat(40).slice(0, 40)}\n`

/** Writes a repository with nested AGENTS.md and thirty skills, without running git. Gives the folder to work in. */
export async function makeProject(root: string, skills = 30): Promise<string> {
  const files: Record<string, string> = {
    '.git/HEAD': 'ref: refs/heads/main\n',
    '.git/refs/heads/main': commit('3f9a1c0b'),
    '.git/refs/heads/topic/rows': commit('77d2e05a'),
    'AGENTS.md': instructions(1, 220),
    [`${FOLDER}/AGENTS.md`]: instructions(2, 120),
    [`${FOLDER}/src/http/AGENTS.md`]: instructions(3, 60),
    [`${FOLDER}/src/store/AGENTS.md`]: instructions(4, 60),
  }
  for (let index = 0; index < skills; index++) {
    const name = `task-${String(index).padStart(2, '0')}`
    files[`.agents/skills/${name}/SKILL.md`] = `---\nname: ${name}\ndescription: ${capital(prose(100 + index, 18))}.\n---\n\n${prose(200 + index, 150)}\n`
  }
  for (const [index, path] of SOURCES.entries()) {
    files[`${FOLDER}/${path}`] = Array.from({ length: 30 + 10 * index }, (_, line) => `export const ${prose(1_000 * index + line, 9).replaceAll(' ', '_')} = ${line}`).join('\n') + '\n'
  }
  for (const [path, text] of Object.entries(files)) await write(root, path, text)
  return join(root, FOLDER)
}

export async function write(root: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}

export function instructions(seed: number, words: number): string {
  return `# Working here\n\n${prose(10 * seed, words).replace(/((?:\S+ ){14}\S+) /g, '$1.\n- ')}.\n`
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1)
}
