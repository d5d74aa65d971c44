import { HeadraceError } from '@headrace/message'

/** A rule that cannot be one, or a folder's remembered answers that nobody may read. */
export class ApprovalError extends HeadraceError {}
