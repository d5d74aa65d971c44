/**
 * The `details` of a result about a file, as it is after the call. A type, not an interface, so that it is assignable
 * to JSON.
 */
export type FileDetails = {
  /** Below the workspace, with `/`; else absolute. Links resolved. */
  readonly path: string
  /** Bytes. */
  readonly size?: number
  /** Lower-case hex; absent where the file is too large to be known. */
  readonly sha256?: string
  /** True where the file is gone: the model was told, and may create it. */
  readonly removed?: true
  /** What the call changed, as a unified diff: for people. */
  readonly diff?: string
}
