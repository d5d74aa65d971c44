import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { growthKit } from '@headrace/testing/growth-kit'
import * as workspaceTools from '../src/index.ts'

// Reads and searches in each turn. The README's chapter has its own check, in plugin.spec.ts.
growthKit('workspace-tools', {
  plugin: [workspaceTools as never, {}],
  prepare: (folder) => writeFile(join(folder, 'a.txt'), 'alpha\n'),
  script: (_, index) => (index % 2 === 0 ? { calls: [{ name: 'read', arguments: { path: 'a.txt' } }, { name: 'grep', arguments: { pattern: 'alpha' } }] } : 'Done.'),
})
