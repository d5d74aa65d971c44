export { type ConfigProblem, type Path, checked, pathText, problemsOf, strict } from './config.ts'
export { kindOf, truthHint } from './words.ts'
