/** Who a request goes to: the two parts of `config.model`. */
export interface Target {
  readonly provider: string
  /** The provider's own name of the model. */
  readonly model: string
}

/** How near whoever wrote an answer is to whom it is sent: the same model, another of its provider, or anybody else. */
export type Kinship = 'self' | 'kin' | 'other'

/** Opaque parts go back to the model that made them, reasoning text to its provider, and nothing else to anybody. */
export function kinshipOf(writer: string | undefined, { provider, model }: Target): Kinship {
  if (writer === undefined) return 'other'
  if (writer === `${provider}/${model}`) return 'self'
  return writer.startsWith(`${provider}/`) ? 'kin' : 'other'
}
