/** What is said around files. Pure functions of what is told now: that is how a later process knows what was said. */
export const projectWords = {
  first: (frames: string): string =>
    `Instructions for work in this project, from its AGENTS.md files: the most general first, and where two disagree the later one holds.\n\n${frames}`,
  changed: (text: string): string => `This replaces the instructions for work in this project that were given earlier; those for single folders stand.\n\n${text}`,
  removed: (): string => 'The instructions for work in this project that were given earlier no longer hold: their files are gone. Those for single folders stand.',
} as const

/** The same for a folder that a tool touched. */
export const folderWords = {
  first: (folder: string, frames: string): string => `Instructions for work in ${folder}, from the AGENTS.md files there: where they disagree with more general ones, they hold.\n\n${frames}`,
  changed: (folder: string, text: string): string => `This replaces the instructions for work in ${folder} that were given earlier.\n\n${text}`,
  removed: (folder: string): string => `The instructions for work in ${folder} that were given earlier no longer hold: their files are gone.`,
} as const
