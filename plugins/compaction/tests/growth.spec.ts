import { growthKit } from '@headrace/testing/growth-kit'
import { CompactionService } from '../src/index.ts'

// As long as there is room nothing moves. Where it acts, it takes back what was sent, on purpose: compaction.spec.ts.
growthKit('compaction', { plugin: [CompactionService as never, {}] })
