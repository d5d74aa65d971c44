import { CONFIG_FIELDS, sameJson, toConfig } from '@headrace/message'
import type { OwnedConfig } from '@headrace/session'
import { describe } from './decision-rule.ts'
import { isObject } from './guards.ts'
import { pluginOfHook } from './listener-owner.ts'
import type { Reporter } from './report.ts'
import { ownerOf } from './owner.ts'
import { Override, type SeamRule } from './dispatch.ts'

/**
 * `agent/request`: config only (L6). A field that a listener changed is signed by it. A field that others had changed and that comes
 * back with the seed's value was lost: the others' value stands, unless the listener itself had set it for an earlier request.
 */
export function configRule(seed: OwnedConfig, reporter: Reporter): SeamRule<OwnedConfig> {
  const seam = 'agent/request'
  return {
    show: ({ config }) => config,
    async accept(returned, from, below, called) {
      const others = await below()
      const plugin = pluginOfHook(from)
      const overriding = returned instanceof Override
      const value: unknown = overriding ? returned.value : returned
      if (!isObject(value)) throw new TypeError(`returned ${describe(value)}, not a config`)
      if (!called && !overriding) reporter.lost(plugin, seam, 'it did not call next()')
      if (called && returned === others.config) return others
      const own = toConfig(value, 'the returned config', others.config.model)
      const fields: Record<string, unknown> = {}
      const owners: Record<string, string> = {}
      const lost: string[] = []
      const dropped: string[] = []
      const owner = ownerOf(plugin, undefined, 'request')
      let changed = false
      for (const field of CONFIG_FIELDS) {
        const theirs = others.config[field]
        const isTheirs = sameJson(own[field], theirs)
        const isLoss = !isTheirs && !sameJson(theirs, seed.config[field])
        const isLost = isLoss && !overriding && seed.owners[field] !== owner && sameJson(own[field], seed.config[field])
        if (isLost) lost.push(field)
        if (isLoss && overriding) dropped.push(others.owners[field] ?? 'app')
        const isOwn = !isTheirs && !isLost
        const chosen = isOwn ? own[field] : theirs
        changed ||= isOwn
        if (chosen === undefined) continue
        fields[field] = chosen
        owners[field] = isOwn ? owner : (others.owners[field] ?? 'app')
      }
      if (overriding) reporter.override({ plugin, seam, reason: returned.reason, dropped })
      if (lost.length > 0) reporter.lost(plugin, seam, `it dropped the ${lost.join(', ')} that another set`)
      return changed ? { config: toConfig(fields), owners } : others
    },
  }
}
