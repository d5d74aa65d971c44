import { defineConfig } from 'vitest/config'
import workspace from './vitest.config.ts'

// What a stranger gets: the packed tarballs, in a folder outside the workspace. Needs the build, and the registry for what is not ours.
export default defineConfig({
  root: workspace.root!,
  resolve: workspace.resolve!,
  test: {
    include: ['test/packaging/**/*.spec.ts'],
    globalSetup: 'test/packaging/pack.ts',
    testTimeout: 180_000,
    hookTimeout: 180_000,
    maxWorkers: 2,
  },
})
