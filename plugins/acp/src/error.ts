import { HeadraceError } from '@headrace/message'

/** A client asks for what cannot be. */
export class AcpError extends HeadraceError {
  constructor(problem: string) {
    super('ACP_INVALID', problem)
  }
}
