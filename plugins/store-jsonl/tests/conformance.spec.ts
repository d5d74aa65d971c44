import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { removeFolder } from '@headrace/testing/folder'
import { storeConformance } from '@headrace/testing/store-conformance'
import { amount } from '../../../test/scale.ts'

for (const fsync of ['barrier', 'never'] as const) {
  storeConformance(`JsonlStore with fsync ${fsync}`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'store-jsonl-'))
    const open = (): JsonlStore => new JsonlStore({ directory, fsync })
    return { store: open(), again: open, dispose: () => removeFolder(directory) }
  }, { events: amount(10_000, 100_000) })
}
