import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from './workspace.ts'

const files = ['packages', 'plugins', 'examples'].flatMap((floor) => readdirSync(join(root, floor)).map((name) => `${floor}/${name}/tests`))
  .concat('test', 'packages/testing/src')
  .flatMap((folder) => namesIn(folder).map((name) => join(folder, name)))
  .filter((path) => path.endsWith('.ts') && !/\bnode_modules\b|^test\/packaging\b/.test(path))
const helpers = files.filter((path) => !path.endsWith('.spec.ts'))

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
}

const withText = (paths: readonly string[], pattern: RegExp): readonly string[] =>
  paths.filter((path) => pattern.test(readFileSync(join(root, path), 'utf8')))

describe('files of tests share a process, and the modules that are loaded in it', () => {
  it('so no module beside a spec has hooks of its own: they would be those of the first spec that loads it; onTestFinished does it', () => {
    expect(helpers.length).toBeGreaterThan(50)
    expect(withText(helpers, /^(before|after)(Each|All)\(/m)).toEqual([])
  })

  it('so what mocks a module is alone: who loaded it before keeps the real one, who loads it later gets the mock; vi.spyOn is better', () => {
    const config = readFileSync(join(root, '.config/vitest.config.ts'), 'utf8')
    expect(withText(files, /\bvi\.(do)?mock\(/i).filter((path) => !config.includes(`'${path}'`))).toEqual([])
  })
})
