import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteStore } from '@headrace/plugin-store-sqlite'
import { storeConformance } from '@headrace/testing/store-conformance'

for (const fsync of ['barrier', 'never'] as const) {
  storeConformance(`SqliteStore with fsync ${fsync}`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'store-sqlite-'))
    const store = new SqliteStore({ file: join(directory, 'sessions.sqlite'), fsync })
    return {
      store,
      dispose: async () => {
        await store.close()
        rmSync(directory, { recursive: true })
      },
    }
  })
}
