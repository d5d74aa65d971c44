import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BriefingService } from '@headrace/briefing'
import { textOf } from '@headrace/message'
import { type Harness, type Script, harness } from '@headrace/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import * as plugin from '../src/index.ts'

let cwd: string
let app: Harness

beforeEach(async () => void (cwd = await mkdtemp(join(tmpdir(), 'plugin-name-'))))
afterEach(async () => {
  await app.dispose()
  await rm(cwd, { recursive: true })
})

async function start(script: Script, config: Partial<plugin.Config> = {}): Promise<void> {
  app = await harness({ script, plugins: [BriefingService, [plugin, config]], agent: { cwd } })
}

/** What the model saw of this plugin in its last request, each text behind its owner. */
function seen(): readonly string[] {
  const { messages, owners } = app.requests.at(-1)!
  return messages.flatMap((message, index) => owners[index]!.startsWith('plugin-name/') ? [`${owners[index]!}: ${textOf(message)}`] : [])
}

it('tells the terms once, and again when they change', async () => {
  await writeFile(join(cwd, 'GLOSSARY.md'), 'wheel: what turns\n')
  await start(['ok'])
  await app.run('Hi')
  await app.run('Hi again')
  await writeFile(join(cwd, 'GLOSSARY.md'), 'wheel: what turns\nsluice: a gate\n')
  await app.run('And now?')
  expect(seen()).toEqual([
    'plugin-name/terms: Terms of this project\'s glossary: wheel.',
    'plugin-name/terms: The glossary has changed. Terms of this project\'s glossary: wheel, sluice.',
  ])
})

it('tells the meaning of a term that the user mentions, once', async () => {
  await writeFile(join(cwd, 'GLOSSARY.md'), '- wheel: what turns\n- sluice: a gate\n')
  await start(['ok'])
  await app.run('Open the sluice.')
  await app.run('Is the sluice open?')
  expect(seen().slice(1)).toEqual(['plugin-name/term sluice: In this project "sluice" means: a gate'])
})

it('tells at most so many meanings with one prompt', async () => {
  await writeFile(join(cwd, 'GLOSSARY.md'), 'wheel: what turns\nsluice: a gate\n')
  await start(['ok'], { limit: 1 })
  await app.run('The sluice and the wheel')
  expect(seen().slice(1)).toEqual(['plugin-name/term wheel: In this project "wheel" means: what turns'])
})

it('refuses a key of its config that there is none of', async () => {
  await expect(harness({ plugins: [BriefingService, [plugin, { limt: 1 }]] })).rejects.toThrow('did you mean "limit"')
  app = await harness()
})

it('looks a term up, and says so where there is none', async () => {
  await writeFile(join(cwd, 'GLOSSARY.md'), 'wheel: what turns\n')
  await start([{ calls: [{ name: 'plugin-name-lookup', arguments: { term: 'wheel' } }, { name: 'plugin-name-lookup', arguments: { term: 'dam' } }] }, 'ok'])
  await app.run('Look')
  const results = app.requests.at(-1)!.messages.filter(({ role }) => role === 'tool').map((message) => JSON.stringify(message.content))
  expect(results.join()).toContain('what turns')
  expect(results.join()).toContain('There is no term \\"dam\\" in the glossary.')
})

it('says nothing where there is no glossary', async () => {
  await start(['ok'])
  await app.run('Hi')
  expect(seen()).toEqual([])
})

it('leaves a log that rebuilds every request, and nothing behind when it is unloaded', async () => {
  await writeFile(join(cwd, 'GLOSSARY.md'), 'wheel: what turns\n')
  await start(['ok'])
  await app.run('The wheel')
  expect((await app.verify()).difference).toBeUndefined()
  for (const fiber of app.ctx.registry.get(plugin)!.fibers) await fiber.dispose()
  await app.run('Hi')
  expect(app.requests.at(-1)!.tools).toBeUndefined()
})
