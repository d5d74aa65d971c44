import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BriefingService } from '@headrace/briefing'
import { growthKit } from '@headrace/testing/growth-kit'
import * as subagent from '../src/index.ts'
import { task } from './kit.ts'

const prepare = async (folder: string): Promise<void> => {
  await mkdir(join(folder, '.git'))
  await mkdir(join(folder, '.headrace/agents'), { recursive: true })
  for (const name of ['reader', 'writer']) await writeFile(join(folder, `.headrace/agents/${name}.md`), `---\ndescription: A ${name}.\n---\nBe a ${name}.\n`)
}
// What it is asked for wrongly answers at once, in words that are the same each time.
growthKit('subagent', {
  plugin: [subagent as never, { user: false }], needs: [BriefingService as never], prepare,
  script: (_, index) => (index % 2 === 0 ? { calls: [task('x', { agent: 'nobody' })] } : 'Done.'),
})
