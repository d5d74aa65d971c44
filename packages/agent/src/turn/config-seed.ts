import { type CallConfig, type Owner, copyJson, toConfig, toConfigPatch } from '@headrace/message'
import type { OwnedConfig, Session } from '@headrace/session'

/** A config in which the given fields are another's; frozen, for listeners see it. */
export function withFields(base: OwnedConfig, fields: Partial<CallConfig>, owner: Owner): OwnedConfig {
  const names = Object.keys(fields)
  if (names.length === 0) return base
  return { config: copyJson({ ...base.config, ...fields }), owners: { ...base.owners, ...Object.fromEntries(names.map((name) => [name, owner])) } }
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
  /** The last config that was found to be whole. */
  private checked: { readonly given: CallConfig; readonly config: CallConfig } | undefined
  private first = true

  constructor(session: Session, defaults: Partial<CallConfig>, explicit: Partial<CallConfig>) {
    this.session = session
    this.defaults = defaults
    this.explicit = explicit
  }

  patch(fields: Partial<CallConfig>, owner: Owner): void {
    this.patches.push({ fields, owner })
  }

  /** @throws ConfigError where nobody has said which model */
  next(): OwnedConfig {
    let seed: OwnedConfig = this.session.headers.baseline ?? this.opened()
    if (this.first) seed = this.begin(seed)
    for (const { fields, owner } of this.patches) seed = withFields(seed, fields, owner)
    this.taken = this.patches.length
    if (this.checked?.given !== seed.config) this.checked = { given: seed.config, config: toConfig(seed.config) }
    return { config: this.checked.config, owners: seed.owners }
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

  /** The seed that was given last is in the log now; a patch that came since waits for the next request. */
  settle(): void {
    this.first = false
    this.patches.splice(0, this.taken)
    this.taken = 0
  }
}
