import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteStore } from '@headrace/plugin-store-sqlite'
import { removeFolder } from '@headrace/testing/folder'
import { storeConformance } from '@headrace/testing/store-conformance'
import { amount } from '../../../test/scale.ts'

for (const fsync of ['barrier', 'never'] as const) {
  storeConformance(`SqliteStore with fsync ${fsync}`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'store-sqlite-'))
    const stores: SqliteStore[] = []
    const open = (): SqliteStore => {
      stores.push(new SqliteStore({ file: join(directory, 'sessions.sqlite'), fsync }))
      return stores.at(-1)!
    }
    return {
      store: open(),
      again: open,
      dispose: async () => {
        for (const store of stores) await store.close()
        removeFolder(directory)
      },
    }
  }, { events: amount(10_000, 100_000) })
}
