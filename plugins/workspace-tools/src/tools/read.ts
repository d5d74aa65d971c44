import type { ToolOutput, ToolRun } from '@headrace/agent'
import type { Config } from '../config.ts'
import { WorkspaceError, mustHaveFound, stopReason } from '../error.ts'
import { chunksOf, readBytes, withFile } from '../file.ts'
import type { OpenFile } from '../file.ts'
import type { FileDetails } from '../file-details.ts'
import { recordOf, recordPath } from '../file-record.ts'
import { filesReadBy } from '../read-files.ts'
import { LineSplitter } from '../text.ts'
import type { Line } from '../text.ts'
import { cleanText, shownLine, sniff } from '../text.ts'
import { PATH, parametersOf, workspaceOf } from './tool.ts'
import type { Workspace } from '../workspace.ts'
import type { WorkspaceTool } from './tool.ts'

export interface ReadInput {
  readonly path: string
  /** From 1. */
  readonly offset?: number
  readonly limit?: number
}

/** A part of a file as the model is shown it. */
interface Shown {
  readonly content: string
  readonly error?: true
}

const DESCRIPTION = 'Reads a text file. Each line comes with its number and a tab in front, which are not part of the file. '
  + 'A long file comes in parts: a note at the end says where to go on.'

export function createRead(config: Config): WorkspaceTool<ReadInput> {
  return {
    name: 'read',
    description: DESCRIPTION,
    parameters: parametersOf({
      path: PATH,
      offset: { type: 'integer', minimum: 1, description: 'The first line to read, from 1.' },
      limit: { type: 'integer', minimum: 1, description: 'How many lines to read at most.' },
    }, ['path']),
    async execute(input, run) {
      const workspace = await workspaceOf(run, config)
      return withFile(workspace, await workspace.findExisting(input.path), async (file): Promise<ToolOutput> => {
        const { bytesRead, buffer } = await file.handle.read(Buffer.alloc(8_192), 0, 8_192, 0)
        const kind = sniff(buffer.subarray(0, bytesRead))
        if (kind === undefined) {
          const { content, ...more } = await readText(file, input, config, run.signal)
          return { content, ...more, details: await recordRead(workspace, file, run, config) }
        }
        if (kind.kind === 'image' && config.images) {
          const bytes = await readBytes(file, config.maxFile)
          return { content: [await run.agent.putImage(bytes, kind.mediaType)], details: recordOf(recordPath(workspace, file.place), bytes) }
        }
        throw notText(file, kind.kind === 'image' ? `an image (${kind.mediaType})` : kind.kind === 'utf-16' ? 'UTF-16 text' : 'a binary file')
      })
    },
  }
}

function notText(file: OpenFile, what: string): WorkspaceError {
  return new WorkspaceError('NOT_TEXT', `${file.place.shown} is ${what} of ${file.stats.size} bytes, not UTF-8 text; use bash to look into it.`)
}

/**
 * How `write` and `edit` recognise the file. One that changed meanwhile is recorded as it is now: the result says so.
 */
async function recordRead(workspace: Workspace, file: OpenFile, run: ToolRun, config: Config): Promise<FileDetails> {
  const path = recordPath(workspace, file.place)
  if (file.stats.size > config.maxFile || run.signal.aborted) return { path, size: file.stats.size }
  const bytes = await readBytes(file, config.maxFile)
  filesReadBy(run).keep(bytes)
  return recordOf(path, bytes)
}

async function readText(file: OpenFile, input: ReadInput, config: Config, signal: AbortSignal): Promise<Shown> {
  const page = new Page(input.offset ?? 1, input.limit ?? Infinity, config)
  const splitter = new LineSplitter(config.maxLine)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (chunk?: Buffer): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
    } catch {
      throw notText(file, `not valid UTF-8 after line ${page.seen}: it is a file`)
    }
  }
  for await (const chunk of chunksOf(file.handle)) {
    if (signal.aborted) return page.stopped(splitter.openLine, signal)
    if (!splitter.push(decode(chunk)).every((line) => page.add(line))) return { content: page.toString() }
  }
  if ([...splitter.push(decode()), ...splitter.end()].every((line) => page.add(line))) return { content: page.end(file.place.shown) }
  return { content: page.toString() }
}

/** The lines of one result, and how the file goes on behind them. */
class Page {
  seen = 0
  private readonly first: number
  private readonly last: number
  private readonly config: Config
  private readonly lines: string[] = []
  private length = 0

  constructor(first: number, limit: number, config: Config) {
    this.first = first
    this.last = first + limit - 1
    this.config = config
  }

  /** False where the line is for the next page. */
  add(line: Line): boolean {
    const number = this.seen + 1
    if (number >= this.first) {
      const shown = `${number}\t${shownLine(line.text, line.length, this.config.maxLine)}`
      const isFull = this.lines.length > 0 && this.length + shown.length + 1 > this.config.maxRead
      if (number > this.last || isFull) return false
      this.lines.push(shown)
      this.length += shown.length + 1
    }
    this.seen = number
    return true
  }

  /** The page where the file did not end with it. */
  toString(): string {
    return cleanText([...this.lines, `[The file goes on: read it with offset ${this.seen + 1}.]`].join('\n'))
  }

  /** The page where reading was ended from outside; an error where nothing of it was reached. */
  stopped(openLine: number, signal: AbortSignal): Shown {
    mustHaveFound(this.lines.length, signal)
    const inLine = openLine > 0 ? `, of which ${openLine} characters had been read` : ''
    const note = `[Ended in line ${this.seen + 1}${inLine}: ${stopReason(signal)}. Use bash to get at a part of a very large file.]`
    const content = cleanText([...this.lines, note].join('\n'))
    return this.lines.length > 0 ? { content } : { content, error: true }
  }

  /** The page where the file ends with it. */
  end(shown: string): string {
    if (this.seen === 0) return '[The file is empty.]'
    if (this.lines.length === 0) throw new WorkspaceError('NOT_FOUND', `${shown} has ${this.seen} lines; there is no line ${this.first}.`)
    return cleanText(this.lines.join('\n'))
  }
}
