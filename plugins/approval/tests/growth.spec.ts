import { growthKit } from '@headrace/testing/growth-kit'
import type { Context } from 'cordis'
import * as approval from '../src/index.ts'

const tool = {
  name: 'tool', inject: ['tools'],
  apply: async (ctx: Context) => {
    for (const name of ['bash', 'write']) ctx.tools.define({ name, description: name, ask: true, parameters: { type: 'object' }, execute: () => 'done' })
  },
}

// One call that a rule allows and one that a rule denies, in each turn: it adds nothing to a request.
growthKit('approval', {
  plugin: [approval, { allow: ['bash(npm test *)'], deny: ['write(.env)'] }], needs: [tool],
  script: (_, index) => (index % 2 === 0 ? { calls: [{ name: 'bash', arguments: { command: 'npm test' } }, { name: 'write', arguments: { path: '.env' } }] } : 'Done.'),
})
