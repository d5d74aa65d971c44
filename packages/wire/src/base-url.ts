import { HeadraceError } from '@headrace/message'

/** A base URL that is invalid. */
export class BaseUrlError extends HeadraceError {
  constructor(at: string) {
    super('BASE_URL_INVALID', `${at} must be an http(s) URL; give one such as "http://localhost:8000/v1"`)
  }
}

/** Endpoint paths that people often paste as part of a base URL. */
const ENDS = /\/+(chat\/completions|completions|responses|messages|models(\/[^/]+:(streamGenerateContent|generateContent))?)?\/*$/

/** A pasted base URL without white space, trailing slash and endpoint path; its query is kept apart. */
export interface BaseUrl {
  /** Without a trailing slash. */
  readonly url: string
  readonly query: Readonly<Record<string, string>>
}

/** @throws BaseUrlError */
export function toBaseUrl(text: string, at: string): BaseUrl {
  const trimmed = text.trim().replace(/^["'<]+|["'>]+$/g, '')
  if (!URL.canParse(trimmed) || !/^https?:$/.test(new URL(trimmed).protocol)) throw new BaseUrlError(at)
  const url = new URL(trimmed)
  const query = Object.fromEntries(url.searchParams)
  url.search = ''
  url.hash = ''
  return { url: url.href.replace(ENDS, ''), query }
}

/** A base URL followed by a path, with its query. */
export function urlOf({ url, query }: BaseUrl, path: string, more: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams({ ...query, ...more }).toString()
  return `${url}${path}${search === '' ? '' : `?${search}`}`
}
