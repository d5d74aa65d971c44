import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { checkPackage } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { describe, expect, it } from 'vitest'
import { published, root } from '../rules/workspace.ts'
import { openTarball } from './tarball.ts'

describe.each(published.map((item) => [item.manifest.name, item] as const))('%s', (_, item) => {
  const { manifest, bytes, packed, files, text } = openTarball(item.manifest)

  it('holds its manifest, README, license and what was built from its sources', () => {
    expect(['package.json', 'README.md', 'LICENSE', 'lib/index.js', 'lib/index.d.ts'].filter((file) => !files.includes(file))).toEqual([])
    const rest = files.filter((file) => !/^(package\.json|README\.md|LICENSE|bin\/.*)$/.test(file))
    expect(rest.filter((file) => !(file.startsWith('templates/') && item.has(file)) && !item.has(file.replace(/^lib\/(.*)\.(js|d\.ts)$/, 'src/$1.ts')))).toEqual([])
  })

  it('holds no test, and no path of the machine that packed it', () => {
    // What is made of a template has tests of its own.
    const others = files.filter((file) => !file.startsWith('templates/'))
    expect(others.filter((file) => /(^|\/)(tests?|fixtures)\/|\.spec\./.test(file))).toEqual([])
    expect(files.filter((file) => [root, `${homedir()}/`].some((path) => path.length > 2 && text(file).includes(path)))).toEqual([])
    expect(text('LICENSE')).toBe(readFileSync(`${root}LICENSE`, 'utf8'))
    expect(text('README.md')).toBe(item.text('README.md'))
  })

  it('says in versions, not in the words of the workspace, what it depends on', () => {
    const { dependencies, peerDependencies } = manifest
    expect(Object.values({ ...dependencies, ...peerDependencies }).filter((version) => /^(workspace|catalog|file|link):/.test(version))).toEqual([])
  })

  it('imports at run time no file that is not there', () => {
    for (const file of files.filter((name) => /^(lib|bin)\/.*\.js$/.test(name))) {
      const code = text(file).replaceAll(/\/\*[^]*?\*\//g, '')
      const targets = [...code.matchAll(/(?:from|import) ?\(?'(\.{1,2}\/[^']+)'/g)].map(([, target]) => new URL(target!, `file:///${file}`).pathname.slice(1))
      expect(targets.filter((target) => !files.includes(target))).toEqual([])
    }
  })

  it('passes publint', async () => {
    const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(bytes).buffer }, strict: true })
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([])
  })

  // ESM only: what `require` and Node 10 would resolve is not asked.
  it('has types that resolve for ESM and bundlers', async () => {
    const result = await checkPackage(packed)
    if (!result.types) throw new Error('there are no types')
    const problems = result.problems.filter((problem) => {
      const resolution = 'resolutionKind' in problem ? problem.resolutionKind : undefined
      return resolution !== 'node10' && resolution !== 'node16-cjs'
    })
    expect(problems).toEqual([])
  })
})
