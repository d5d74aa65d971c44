export { type ConfigProblem, type Path, pathText, problemsOf, strict } from './config.ts'
export { kindOf, truthHint } from './words.ts'
