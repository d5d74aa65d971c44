import { HeadraceError } from '@headrace/message'

/** An invalid rule, or a folder's remembered answers that must not be trusted. */
export class ApprovalError extends HeadraceError {}
