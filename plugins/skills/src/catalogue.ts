import type { SkillSet } from './library.ts'
import { type Skill, isForModel } from './skill.ts'

/** Shorter descriptions say nothing: below this length all are left out. */
const LEAST = 20

const OPEN = '<available_skills>\nInstructions for kinds of tasks. Open one with the skill tool before you begin a task that it fits.\n'
const CLOSE = '</available_skills>'

/** What is told where the catalogue changed. */
export function changedCatalogue(text: string): string {
  return `The skills have changed. These are all there are now:\n${text}`
}

/** What is told when the last skill went. */
export function removedCatalogue(): string {
  return 'There are no skills any more; the list of available skills no longer holds.'
}

/** Catalogues of sets of skills, without hidden ones; each is built once. */
export function catalogues(budget: number): (set: SkillSet) => string | undefined {
  const made = new WeakMap<SkillSet, string>()
  return (set) => {
    const text = made.get(set) ?? catalogueOf(set.skills.filter(isForModel), budget)
    if (text !== undefined) made.set(set, text)
    return text
  }
}

/**
 * The catalogue as a model sees it: at most `budget` UTF-16 units, and equal for equal skills. Where all of it does not fit the longest
 * descriptions are cut to one length; where that leaves too little of them, they are left out; then names are. What is missing is said.
 *
 * @param skills in order of name
 */
export function catalogueOf(skills: readonly Skill[], budget: number): string | undefined {
  if (skills.length === 0) return undefined
  const lines = skills.map(({ name, description }) => ({ name, text: escaped(description) }))
  const room = budget - OPEN.length - CLOSE.length
  const names = sum(lines.map(({ name }) => lineOf(name).length))
  const whole = lines.map(({ name, text }) => lineOf(name, text))
  if (sum(whole.map((line) => line.length)) <= room) return framed(whole)
  // `- name` and `- name: text` differ by the two characters of the colon.
  const left = room - names - 2 * lines.length - shortenedNote(lines.length, lines.length).length
  const longest = longestThatFits(lines.map(({ text }) => text.length), left)
  if (longest >= LEAST) {
    const cut = lines.filter(({ text }) => text.length > longest).length
    return framed([
      ...skills.map(({ name, description }) => lineOf(name, shortened(description, longest))),
      shortenedNote(cut, lines.length),
    ])
  }
  if (names + NAMES_NOTE.length <= room) return framed([...lines.map(({ name }) => lineOf(name)), NAMES_NOTE])
  return framed(firstNames(lines.map(({ name }) => lineOf(name)), room))
}

function lineOf(name: string, text?: string): string {
  return text === undefined ? `- ${name}\n` : `- ${name}: ${text}\n`
}

function framed(lines: readonly string[]): string {
  return OPEN + lines.join('') + CLOSE
}

function shortenedNote(cut: number, all: number): string {
  return `(${cut} of ${all} descriptions are cut to fit; they end with "…".)\n`
}

const NAMES_NOTE = '(There are too many skills to describe them here: these are their names.)\n'

function moreNote(count: number): string {
  return `(There are ${count} more skills than fit here. Ask the skill tool for a word to be told the names that contain it.)\n`
}

function firstNames(lines: readonly string[], room: number): readonly string[] {
  let left = room - moreNote(lines.length).length
  const fitting = lines.findIndex((line) => (left -= line.length) < 0)
  return [...lines.slice(0, fitting), moreNote(lines.length - fitting)]
}

/** The greatest length that lets all texts fit into `room` when the longer ones are cut to it. */
function longestThatFits(lengths: readonly number[], room: number): number {
  let [low, high] = [0, Math.max(...lengths)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (sum(lengths.map((length) => Math.min(length, middle))) <= room) low = middle
    else high = middle - 1
  }
  return low
}

/** The beginning of a text, escaped, at most `length` long with its `…`; never half of a character or of an escape. */
function shortened(text: string, length: number): string {
  if (escaped(text).length <= length) return escaped(text)
  let result = ''
  for (const character of text) {
    const next = result + escaped(character)
    if (next.length >= length) break
    result = next
  }
  return `${result.trimEnd()}…`
}

/** Escaped, so that no description can close the frame. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
