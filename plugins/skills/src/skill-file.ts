import { type Finding, finding } from './diagnostic.ts'
import { cutAfter, oneLine, quoted } from '@headrace/files'
import { type FieldNames, type Fields, type Yaml, isTooLarge, readFields, splitFrontmatter } from '@headrace/files/frontmatter'
import { type Manifest, isSkillName } from './skill.ts'

/** What a SKILL.md comes to: a manifest where it can be loaded, and what is wrong with it. */
export interface SkillFile {
  readonly manifest?: Manifest
  readonly findings: readonly Finding[]
  /** Its name is not its folder's: a skill whose folder has that name comes before it. */
  readonly misnamed?: boolean
}

const KNOWN: readonly string[] = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools', 'disable-model-invocation', 'user-invocable']
const NAMES: FieldNames = {
  texts: ['name', 'description', 'license', 'compatibility', 'disable-model-invocation', 'user-invocable'], nested: ['metadata', 'allowed-tools'],
}
/** Characters (code points), as the format counts. */
const MAX_DESCRIPTION = 1_024
const MAX_COMPATIBILITY = 500

/**
 * Reads a SKILL.md.
 *
 * @param text its beginning, with the frontmatter
 * @param folders names of its folder: as it was found, and as it is without links
 * @param isWhole whether `text` is all of it
 */
export function readSkillFile(text: string, folders: readonly string[], isWhole: boolean): SkillFile {
  const parts = splitFrontmatter(text)
  if (typeof parts === 'string') {
    if (parts === 'not closed' && !isWhole) return skipped('FRONTMATTER_LARGE', 'its frontmatter does not end where it should; close it with a line of ---')
    const problem = parts === 'not opened' ? 'it does not begin with a frontmatter' : 'its frontmatter is not closed'
    return skipped('FRONTMATTER_MISSING', `${problem}; put name and description between two lines of ---`)
  }
  if (isTooLarge(parts.yaml)) return skipped('FRONTMATTER_LARGE', 'its frontmatter is too large to be read; keep what is long in the body')
  const fields = readFields(parts.yaml, NAMES)
  if ('problem' in fields) return skipped('FRONTMATTER_INVALID', `its frontmatter cannot be read: ${oneLine(cutAfter(fields.problem, 200))}`)
  return judge(fields, folders)
}

function judge(fields: Fields, folders: readonly string[]): SkillFile {
  const findings: Finding[] = []
  const warn = (code: Finding['code'], message: string): void => void findings.push(finding('warning', code, message))
  if (fields.repaired !== undefined) {
    warn('YAML_REPAIRED', `its frontmatter is not YAML (${oneLine(cutAfter(fields.repaired, 200))}) and was read line by line; quote the values`)
  }
  const unknown = [...fields.values.keys()].filter((key) => !KNOWN.includes(key))
  if (unknown.length > 0) warn('FIELD_UNKNOWN', `it has fields that mean nothing here: ${unknown.slice(0, 10).map(quoted).join(', ')}`)
  for (const key of fields.unread ?? []) warn('FIELD_INVALID', `its ${quoted(key)} cannot be read`)
  const name = nameOf(fields.values.get('name'), folders, findings)
  const description = descriptionOf(fields.values.get('description'), findings)
  if (name === undefined || description === undefined) return { findings }
  const misnamed = !folders.includes(name)
  if (misnamed) warn('NAME_MISMATCH', `its name is ${name}, its folder is ${quoted(folders[0]!)}; give them one name`)
  return { manifest: { name, description, ...optional(fields, warn) }, findings, misnamed }
}

/** The name it gives itself; where that is none, its folder's. */
function nameOf(value: Yaml | undefined, folders: readonly string[], findings: Finding[]): string | undefined {
  const own = typeof value === 'string' ? value.trim().normalize('NFC') : value === undefined || value === null ? '' : undefined
  if (own !== undefined && isSkillName(own)) return own
  const folder = folders.find(isSkillName)
  const [code, problem] = own === '' ? (['NAME_MISSING', 'it has no name'] as const)
    : (['NAME_INVALID', `its name ${own === undefined ? 'is not text' : `${quoted(own)} is not 1 to 64 lower-case letters, digits and single hyphens`}`] as const)
  const way = folder === undefined ? 'nor has its folder one; rename both' : `it is loaded as ${folder}, as its folder is called`
  findings.push(finding(folder === undefined ? 'error' : 'warning', code, `${problem}; ${way}`))
  return folder
}

function descriptionOf(value: Yaml | undefined, findings: Finding[]): string | undefined {
  const text = typeof value === 'string' ? oneLine(value) : ''
  if (text === '') {
    findings.push(finding('error', 'DESCRIPTION_MISSING', 'it has no description; say in 1 to 1024 characters what it does and when to use it'))
    return undefined
  }
  const characters = [...text]
  if (characters.length <= MAX_DESCRIPTION) return text
  findings.push(finding('warning', 'DESCRIPTION_LONG', `its description has ${characters.length} characters, and is cut to ${MAX_DESCRIPTION}; move the rest to the body`))
  return `${characters.slice(0, MAX_DESCRIPTION - 1).join('')}…`
}

function optional({ values }: Fields, warn: (code: Finding['code'], message: string) => void): Omit<Manifest, 'name' | 'description'> {
  const text = (key: string): string | undefined => {
    const value = values.get(key)
    if (value === undefined || value === null || value === '') return undefined
    if (typeof value === 'string') return oneLine(value)
    warn('FIELD_INVALID', `its ${key} is not text, and is left out`)
    return undefined
  }
  const [license, compatibility] = [text('license'), text('compatibility')]
  if ([...compatibility ?? ''].length > MAX_COMPATIBILITY) warn('COMPATIBILITY_LONG', `its compatibility has more than ${MAX_COMPATIBILITY} characters`)
  const metadata = metadataOf(values.get('metadata'), warn)
  const allowedTools = toolsOf(values.get('allowed-tools'), warn)
  const isHidden = flagOf('disable-model-invocation', values, warn) === true
  const isModelOnly = flagOf('user-invocable', values, warn) === false
  if (isHidden && isModelOnly) warn('FIELD_INVALID', 'nobody can open it: neither the model nor the user may; remove one of the two fields')
  return {
    ...(license && { license }),
    ...(compatibility && { compatibility }),
    ...(metadata && { metadata }),
    ...(allowedTools && { allowedTools }),
    ...(isHidden && { modelInvocable: false }),
    ...(isModelOnly && { userInvocable: false }),
  }
}

/** A field that says yes or no. */
function flagOf(key: string, values: Fields['values'], warn: (code: Finding['code'], message: string) => void): boolean | undefined {
  const value = values.get(key)
  if (value === undefined || value === null || value === '') return undefined
  const word = typeof value === 'string' ? value.trim().toLowerCase() : ''
  if (['true', 'yes', 'on'].includes(word)) return true
  if (['false', 'no', 'off'].includes(word)) return false
  warn('FIELD_INVALID', `its ${key} is neither true nor false, and is left out`)
  return undefined
}

function metadataOf(value: Yaml | undefined, warn: (code: Finding['code'], message: string) => void): Manifest['metadata'] {
  if (value === undefined || value === null || value === '') return undefined
  const entries = typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : undefined
  const texts = entries?.filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  if (!entries || texts?.length !== entries.length) warn('FIELD_INVALID', 'its metadata is not a list of keys with text; what is not text is left out')
  return texts && Object.fromEntries(texts)
}

/** Separated by spaces as the format says, by commas or as a list as many write; `Bash(git log:*)` is one. */
function toolsOf(value: Yaml | undefined, warn: (code: Finding['code'], message: string) => void): Manifest['allowedTools'] {
  if (value === undefined || value === null || value === '') return undefined
  const list = typeof value === 'string' ? value.match(/[^\s,(]+(?:\([^)]*\))?/g) ?? [] : value
  if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return list
  warn('FIELD_INVALID', 'its allowed-tools is not a list of names, and is left out')
  return undefined
}

function skipped(code: Finding['code'], message: string): SkillFile {
  return { findings: [finding('error', code, message)] }
}
