import { sha256 } from '@headrace/message'
import { type Measure, timed } from './measure.ts'

const TIMES = 20_000

/** A yardstick: what a machine is like, so that figures of two machines can be compared. */
export function unitMeasure(): Measure {
  const message = { role: 'tool', content: [{ type: 'tool-result', id: 'call_1', name: 'read', content: [{ type: 'text', text: 'x'.repeat(200) }] }] }
  return {
    key: 'yardstick', title: 'yardstick: `JSON.stringify`, `JSON.parse` and SHA-256 of a message of 200 characters', unit: 'µs',
    async sample() {
      const ms = await timed(() => {
        for (let index = 0; index < TIMES; index++) {
          const text = JSON.stringify(message)
          sha256(text)
          JSON.parse(text)
        }
      })
      return (ms * 1_000) / TIMES
    },
  }
}
