/** What has a key: a section, a topic, a contribution. */
export interface Keyed<C> {
  /** Unique among what its plugin registers there; it signs `plugin/key`. */
  readonly key: string
  /** Lower stands first. Default 0; then by plugin, then by key. */
  readonly order?: number
  readonly content: C
}
