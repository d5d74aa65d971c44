import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BriefingService } from '@headrace/briefing'
import { growthKit } from '@headrace/testing/growth-kit'
import * as skills from '../src/index.ts'

const prepare = async (folder: string): Promise<void> => {
  await mkdir(join(folder, '.git'))
  for (const name of ['pdf', 'release']) {
    await mkdir(join(folder, '.agents/skills', name), { recursive: true })
    await writeFile(join(folder, '.agents/skills', name, 'SKILL.md'), `---\nname: ${name}\ndescription: Does ${name}.\n---\n\nDo it.\n`)
  }
}
// Opens a skill in each turn.
growthKit('skills', {
  plugin: [skills as never, { user: false }], needs: [BriefingService as never], prepare,
  script: (_, index) => (index % 2 === 0 ? { calls: [{ name: 'skill', arguments: { name: 'pdf' } }] } : 'Done.'),
})
