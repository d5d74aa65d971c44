import { BriefingService } from '@headrace/briefing'
import { growthKit } from '@headrace/testing/growth-kit'
import * as tasks from '../src/index.ts'
import { set } from './kit.ts'

// Sets a list in each turn.
growthKit('tasks', {
  plugin: [tasks as never, {}], needs: [BriefingService as never],
  script: (_, index) => (index % 2 === 0 ? set('> look', '  do') : 'Done.'),
})
