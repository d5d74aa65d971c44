import type { Plugin } from 'cordis'
import type { Script } from './scripted.ts'

/** A plugin, or one with its config. */
export type Loaded = Plugin | readonly [plugin: Plugin, config?: unknown]

/** Options of `growthKit()`. */
export interface GrowthOptions {
  /** The plugin under test. */
  readonly plugin: Loaded
  /** What it needs beside the agent's services, such as the BriefingService. */
  readonly needs?: readonly Loaded[]
  /** Puts files into a workspace; called for each one, and again for each run that begins anew, with the same outcome each time. */
  readonly prepare?: (folder: string) => Promise<void>
  /** A model that makes the plugin do its work. Default: answers at once. */
  readonly script?: Script
  /**
   * `by design`: the plugin changes the config by step, so that the kit asks for the same config at the same step of each turn instead of
   * one that stays. Default: a config that nobody changed stays.
   */
  readonly configChanges?: 'by design'
  /** Checks the README's chapter on what the model sees. */
  readonly chapter?: {
    /** The plugin's README. */
    readonly readme: URL
    /** How a text that it added reads there: a placeholder for each part that varies. */
    readonly spell?: (text: string, folder: string) => string
  }
}
