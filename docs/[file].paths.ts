import { filePages } from './.vitepress/repository.ts'

/** READMEs, and the sources that pages link to: shown where they are, not copied. */
export default { paths: () => filePages() }
