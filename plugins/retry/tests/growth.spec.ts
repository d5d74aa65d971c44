import { growthKit } from '@headrace/testing/growth-kit'
import * as retry from '../src/index.ts'

// Every other request fails and is made again: a retry sends the same bytes.
growthKit('retry', { plugin: [retry as never, { base: 1, most: 2 }], script: (_, index) => (index % 2 === 0 ? { error: { kind: 'server' } } : 'Done.') })
