import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Fiber, Plugin } from 'cordis'
import { isActive } from '@headrace/cordis'
import { removeFolder } from './folder.ts'
import type { GrowthOptions, Loaded } from './growth-options.ts'
import { type Harness, type HarnessOptions, harness } from './harness.ts'
import { ReportedError } from './reports.ts'

/** Workspaces and apps for one plugin under test. */
export class GrowthBench {
  readonly name: string
  readonly options: GrowthOptions
  private readonly folders: string[] = []
  private readonly apps: Harness[] = []

  constructor(name: string, options: GrowthOptions) {
    this.name = name
    this.options = options
  }

  /** A new one, prepared. */
  async workspace(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'headrace-growth-'))
    this.folders.push(folder)
    await this.options.prepare?.(folder)
    return folder
  }

  /**
   * Makes a workspace what it was before anything ran in it, for what runs leave there is no matter of the load order;
   * its apps are gone.
   */
  async renew(folder: string): Promise<void> {
    await this.unload()
    removeFolder(folder)
    await mkdir(folder)
    await this.options.prepare?.(folder)
  }

  async app(cwd: string, plugins: readonly Loaded[] = [this.options.plugin]): Promise<Harness> {
    const { needs = [], script } = this.options
    const made = await harness({ plugins: [...needs, ...plugins] as NonNullable<HarnessOptions['plugins']>, agent: { cwd }, ...(script && { script }) })
    this.apps.push(made)
    return made
  }

  /** Loads the plugin under test into an app, or takes it out and loads it anew. */
  loaderOf(made: Harness): () => Promise<void> {
    const [plugin, config] = (Array.isArray(this.options.plugin) ? this.options.plugin : [this.options.plugin]) as [Plugin, unknown?]
    let fiber: Fiber | undefined
    return async () => {
      await fiber?.dispose()
      fiber = await made.ctx.plugin(plugin, config)
      if (!isActive(fiber)) throw new TypeError(`${this.name} is not loaded: does it wait for a service? Give the kit what it needs.`)
    }
  }

  /** Runs the prompts in turn. @throws ReportedError; Error where a turn fails, for then a test of its requests would test nothing */
  async run(made: Harness, ...prompts: readonly string[]): Promise<void> {
    for (const prompt of prompts) {
      const { reason, error } = await made.run(prompt)
      if (made.reports.length > 0) throw new ReportedError(made.reports)
      if (reason === 'error') throw new Error(`the turn of the prompt "${prompt}" failed: ${error?.message ?? reason}`)
    }
  }

  /** Unloads the apps. */
  async unload(): Promise<void> {
    for (const app of this.apps.splice(0)) await app.dispose()
  }

  /** Removes all workspaces. */
  async close(): Promise<void> {
    try {
      await this.unload()
    } finally {
      for (const folder of this.folders.splice(0)) removeFolder(folder)
    }
  }
}
