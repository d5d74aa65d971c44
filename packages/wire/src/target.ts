/** The target of a request: the two parts of `config.model`. */
export interface Target {
  readonly provider: string
  /** The provider's own name of the model. */
  readonly model: string
}

/**
 * How the writer of an answer relates to the target: the same model, another model of the provider, or another
 * provider.
 */
export type Kinship = 'self' | 'kin' | 'other'

/** Opaque parts are sent back only to the model that made them, reasoning text only to its provider. */
export function kinshipOf(writer: string | undefined, { provider, model }: Target): Kinship {
  if (writer === undefined) return 'other'
  if (writer === `${provider}/${model}`) return 'self'
  return writer.startsWith(`${provider}/`) ? 'kin' : 'other'
}
