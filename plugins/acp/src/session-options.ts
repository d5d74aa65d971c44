import type { SessionConfigOption, SessionConfigSelectOption } from '@agentclientprotocol/sdk'
import type { CallConfig } from '@headrace/message'
import { AcpError } from './error.ts'

/** `ask`: what needs a permission is asked. `allow`: it runs; what a rule denies is denied still. */
export type Permissions = 'ask' | 'allow'

/** What a session is set to. */
export interface Settings {
  /** As the log has it, with what was changed since. */
  readonly config: Partial<CallConfig>
  readonly permissions: Permissions
}

/** A change that a client asked for. */
export type Setting = { readonly config: Partial<CallConfig> } | { readonly permissions: Permissions }

const [MODEL, EFFORT, PERMISSIONS] = ['model', 'thought_level', 'permissions']
const EFFORTS = ['low', 'medium', 'high']
/** The provider's own, where none was chosen. A config's field cannot be taken back, so it is offered only then. */
const DEFAULT = 'default'

/** @param models that can be chosen, beside the one in use */
export function sessionOptions({ config, permissions }: Settings, models: readonly string[]): SessionConfigOption[] {
  const { model, reasoningEffort } = config
  return [
    ...(model === undefined ? [] : [{
      type: 'select' as const, id: MODEL, name: 'Model', category: 'model', currentValue: model,
      options: [...new Set([model, ...models])].map((value) => ({ value, name: value })),
    }]),
    {
      type: 'select', id: EFFORT, name: 'Thinking', category: 'thought_level', currentValue: reasoningEffort ?? DEFAULT,
      options: [...new Set([...reasoningEffort === undefined ? [DEFAULT] : [reasoningEffort], ...EFFORTS])].map(named),
    },
    {
      type: 'select', id: PERMISSIONS, name: 'Permissions', category: 'mode', currentValue: permissions,
      options: [
        { value: 'ask', name: 'Ask', description: 'Asks before it writes, edits or runs, as the rules say' },
        { value: 'allow', name: 'Allow', description: 'Runs what would be asked; what a rule denies stays denied' },
      ],
    },
  ]
}

/** @throws AcpError for an option or a value that is none */
export function settingOf(configId: string, value: unknown, offered: readonly SessionConfigOption[]): Setting {
  const option = offered.find(({ id }) => id === configId)
  if (!option) throw new AcpError(`there is no option ${JSON.stringify(configId.slice(0, 80))}; there are ${offered.map(({ id }) => id).join(', ')}`)
  const values = option.type === 'select' ? (option.options as readonly SessionConfigSelectOption[]).map((one) => one.value) : []
  if (typeof value !== 'string' || !values.includes(value)) throw new AcpError(`${configId} may be ${values.join(', ')}, not ${JSON.stringify(value)?.slice(0, 80)}`)
  switch (configId) {
    case MODEL: return { config: { model: value } }
    case EFFORT: return { config: value === DEFAULT ? {} : { reasoningEffort: value } }
    default: return { permissions: value as Permissions }
  }
}

function named(value: string): SessionConfigSelectOption {
  return { value, name: `${value[0]!.toUpperCase()}${value.slice(1)}` }
}
