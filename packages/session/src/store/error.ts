import { HeadraceError } from '@headrace/message'

/** A store that could not do what it was asked to: the message names the session, the place and the cause. */
export class StoreError extends HeadraceError {
  constructor(message: string, options?: ErrorOptions & { code?: string }) {
    super(options?.code ?? 'STORE_FAILED', message, options)
  }
}
