import { makeApp } from './app.ts'
import type { Measure } from './measure.ts'

const STEPS = 100

/** Bytes of log that a step leaves: what is new in it, and what proves it. */
export function sizeMeasures(): readonly Measure[] {
  return [
    { key: 'bytes-step', title: 'log of a step that calls a tool (200 characters of result), with an `after` that moves', unit: 'bytes', sample: () => bytesAStep(false) },
    { key: 'bytes-step-bare', title: 'log of the same step without an `after`', unit: 'bytes', sample: () => bytesAStep(true) },
  ]
}

async function bytesAStep(bare: boolean): Promise<number> {
  const { store, answers, create } = await makeApp({ bare })
  const agent = await create('size')
  await agent.prompt('Is all well?').result
  const sizeOf = async (): Promise<number> => {
    for await (const { size } of store.list()) return size
    return 0
  }
  const before = await sizeOf()
  answers.steps = STEPS
  await agent.prompt('Go on with the work, please.').result
  const after = await sizeOf()
  await agent.dispose()
  return (after - before) / STEPS
}
