import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BriefingService } from '@headrace/briefing'
import { growthKit } from '@headrace/testing/growth-kit'
import { runbook } from '../src/index.ts'

growthKit('runbook', {
  plugin: runbook,
  needs: [BriefingService],
  prepare: (folder) => writeFile(join(folder, 'RUNBOOK.md'), 'The pump: close the valve, then restart it.\n'),
  script: (_, index) => (index === 0 ? { calls: [{ name: 'page', arguments: { message: 'The pump stands still.' } }] } : 'Done.'),
})
