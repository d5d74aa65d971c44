export {
  Departures, type FiberState, type Listener, Listeners, type NotRunning, type Registration, fibersOf, isActive, isBelow, isFailed,
  loadingFiber, missingServices, movingPart, nameOf, noteApp, originalOf, partsOf, pluginOf, registrationsOf, renamed, runOf, servicesOf,
  sortListeners, stateOf, whyNotRunning,
} from './cordis.ts'
export { addLastingExporter } from './exporter.ts'
