import { expect, it, onTestFinished } from 'vitest'
import { harness } from '@headrace/testing'

it.each([
  ['scirpted/model', 'there is no provider "scirpted"; did you mean "scripted"?; there is scripted, local'],
  ['moon/model', 'there is no provider "moon"; there is scripted, local'],
])('a model %s, whose provider nobody registered, ends the turn and says what is meant', async (model, message) => {
  const made = await harness({ agent: { model } })
  onTestFinished(() => made.dispose())
  made.ctx.llm.adapter('local', made.model)
  const { reason, error } = await made.run('Hi')
  expect({ reason, message: error?.message }).toEqual({ reason: 'error', message: expect.stringContaining(message) as string })
})
