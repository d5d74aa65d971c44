export * as agentsHttp from './agents-http.ts'
export * as frontPage from './front-page.ts'
export { HttpService, type HttpConfig, type Routes } from './http.ts'
export { stopOnSignals } from './life.ts'
