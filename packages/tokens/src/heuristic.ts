import type { TokenCounter } from './counter.ts'
import { plainCounter } from './plain.ts'
import { scriptWeight } from './script.ts'

/**
 * Estimates tokens from classes of characters: words by length, digits by threes, signs and indentation by runs, other
 * scripts by weight per character. Needs no package, takes one pass. The README has its measured error.
 */
export function heuristicCounter(): TokenCounter {
  return plainCounter('heuristic', estimateTokens)
}

type Run = readonly [tokens: number, end: number]

/** Tokens of a text; only the empty text has none. */
export function estimateTokens(text: string): number {
  let tokens = 0
  let index = 0
  while (index < text.length) {
    const [cost, end] = runAt(text, index)
    tokens += cost
    index = end
  }
  return text === '' ? 0 : Math.max(1, Math.round(tokens))
}

function runAt(text: string, start: number): Run {
  const code = text.charCodeAt(start)
  if (isLetter(code)) return wordAt(text, start)
  if (isDigit(code)) return digitsAt(text, start)
  if (isSpace(code)) return spaceAt(text, start)
  if (code < 128) return signsAt(text, start)
  return [scriptWeight(code), start + 1]
}

/** A word is about one token whatever its length, up to a point; `camelCase` is two words, and what is in capitals is spelled. */
function wordAt(text: string, start: number): Run {
  let end = start + 1
  if (isUpper(text.charCodeAt(start))) while (isUpper(text.charCodeAt(end))) end++
  const capitals = end - start
  while (isLower(text.charCodeAt(end))) end++
  const length = end - start
  const spelled = Math.max(0, capitals - 1) * 0.25
  const long = Math.max(0, Math.min(length, LONG_WORD) - 4) * 0.06 + Math.max(0, length - LONG_WORD) * 0.35
  // Letters behind a digit are no word but a piece of a digest, a key or a number in base 64.
  const piece = isDigit(text.charCodeAt(start - 1)) ? 0.5 : 0
  return [1 + spelled + long + piece, end]
}

const LONG_WORD = 14

function digitsAt(text: string, start: number): Run {
  let end = start + 1
  while (isDigit(text.charCodeAt(end))) end++
  return [Math.ceil((end - start) / 3), end]
}

/** One space belongs to the word or sign behind it; a line break is a token, and so is the indentation behind it. */
function spaceAt(text: string, start: number): Run {
  let end = start
  let lineEnd = start
  for (let code = text.charCodeAt(end); isSpace(code); code = text.charCodeAt(++end)) if (code === LF || code === CR) lineEnd = end + 1
  const indent = end - lineEnd
  const breaks = lineEnd > start ? (start > 0 && isSign(text.charCodeAt(start - 1)) ? 0.4 : 1) : 0
  const spaces = indent > 1 || (indent === 1 && isDigit(text.charCodeAt(end))) ? 1 : 0
  return [breaks + spaces + (end - start) / 64, end]
}

/** Signs that often stand together merge, equal ones well: a rule of eighty hyphens is two tokens. */
function signsAt(text: string, start: number): Run {
  let end = start + 1
  let tokens = 1
  for (let code = text.charCodeAt(end); isSign(code); code = text.charCodeAt(++end)) {
    tokens += code === text.charCodeAt(end - 1) ? 0.06 : 0.25
  }
  return [tokens, end]
}

const LF = 10
const CR = 13

function isLower(code: number): boolean {
  return code >= 97 && code <= 122
}

function isUpper(code: number): boolean {
  return code >= 65 && code <= 90
}

function isLetter(code: number): boolean {
  return isLower(code) || isUpper(code)
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13)
}

function isSign(code: number): boolean {
  return code < 128 && !isLetter(code) && !isDigit(code) && !isSpace(code)
}
