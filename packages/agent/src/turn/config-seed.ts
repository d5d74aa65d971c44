import { type CallConfig, type Owner, copyJson, resolveModel, toConfig, toConfigPatch } from '@headrace/message'
import type { OwnedConfig, Session } from '@headrace/session'

/** Merges a patch into a config; frozen, since listeners see it. @throws ConfigError for a model without a provider */
export function withFields(base: OwnedConfig, fields: Partial<CallConfig>, owner: Owner): OwnedConfig {
  const names = Object.keys(fields)
  if (names.length === 0) return base
  return {
    config: copyJson({ ...base.config, ...resolveModel(fields, base.config.model) }),
    owners: { ...base.owners, ...Object.fromEntries(names.map((name) => [name, owner])) },
  }
}

/**
 * Where `agent/request` starts from (L6): on an instance's first request, what was given explicitly beats the logged baseline field by
 * field, and defaults fill what nobody said; afterwards it is the log's folded config, substitutes left out. A patch lasts until a
 * request has taken it into the log.
 */
export class ConfigSeed {
  private readonly session: Session
  private readonly defaults: Partial<CallConfig>
  private readonly explicit: Partial<CallConfig>
  private readonly patches: { readonly fields: Partial<CallConfig>; readonly owner: Owner }[] = []
  private taken = 0
  /** The last config that was complete. */
  private checked: { readonly given: CallConfig; readonly config: CallConfig } | undefined
  private first = true

  /** @throws ConfigError where a given model names no provider, and there is none to keep */
  constructor(session: Session, defaults: Partial<CallConfig>, explicit: Partial<CallConfig>) {
    this.session = session
    this.defaults = defaults
    this.explicit = explicit
    this.folded()
  }

  /** @throws ConfigError where its model names no provider, and there is none to keep */
  patch(fields: Partial<CallConfig>, owner: Owner): void {
    withFields(this.folded(), fields, owner)
    this.patches.push({ fields, owner })
  }

  /** One prompt's config, its model complete. @throws ConfigError where a model names no provider and there is none to keep */
  check(fields: Partial<CallConfig>): Partial<CallConfig> {
    return resolveModel(fields, this.folded().config.model, 'prompt')
  }

  /**
   * The seed of the coming request.
   *
   * @param patches `wait`: what was configured meanwhile is left to a later request, for this one goes with a prompt's own config
   * @throws ConfigError where nobody has said which model
   */
  next(patches: 'take' | 'wait' = 'take'): OwnedConfig {
    const seed = this.folded(patches === 'take' ? this.patches : [])
    this.taken = patches === 'take' ? this.patches.length : 0
    if (this.checked?.given !== seed.config) this.checked = { given: seed.config, config: toConfig(seed.config) }
    return { config: this.checked.config, owners: seed.owners }
  }

  private folded(patches = this.patches): OwnedConfig {
    const logged: OwnedConfig = this.session.headers.baseline ?? this.opened()
    const begun = this.first ? this.begin(logged) : logged
    return patches.reduce((seed, { fields, owner }) => withFields(seed, fields, owner), begun)
  }

  /** What the session was created with: a crash before its first request must not lose it. @throws ConfigError */
  private opened(): OwnedConfig {
    const open = this.session.at(0)
    const config = open?.type === 'session/open' && open.data.config ? toConfigPatch(open.data.config, 'session/open') : {}
    return withFields({ config: {} as CallConfig, owners: {} }, config, 'app')
  }

  private begin(logged: OwnedConfig): OwnedConfig {
    const missing = Object.fromEntries(Object.entries(this.defaults).filter(([name]) => !Object.hasOwn(logged.config, name)))
    return withFields(withFields(logged, missing, 'app'), this.explicit, 'app')
  }

  /** The last seed is in the log now; patches made since wait for the next request. */
  settle(): void {
    this.first = false
    this.patches.splice(0, this.taken)
    this.taken = 0
  }
}
