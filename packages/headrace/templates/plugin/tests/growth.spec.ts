import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BriefingService } from '@headrace/briefing'
import { growthKit } from '@headrace/testing/growth-kit'
import * as plugin from '../src/index.ts'

// Whatever happens around it, a request grows only at its end; and the README says what the model sees.
growthKit('plugin-name', {
  plugin: [plugin, {}],
  needs: [BriefingService],
  prepare: (folder) => writeFile(join(folder, 'GLOSSARY.md'), 'headrace: the channel that leads water to the wheel\none: the first\n'),
  script: (_, index) => index % 2 === 0 ? { calls: [{ name: 'plugin-name-lookup', arguments: { term: 'headrace' } }] } : 'Done.',
  chapter: { readme: new URL('../README.md', import.meta.url), spell: (text) => text.replace('headrace, one', '<terms>') },
})
