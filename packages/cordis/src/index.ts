export {
  Departures, type FiberState, type Listener, Listeners, type NotRunning, type Registration, addLastingExporter, fibersOf, isActive, isBelow,
  isFailed, loadingFiber, missingServices, movingPart, nameOf, noteApp, originalOf, partsOf, pluginOf, registrationsOf, renamed, runOf,
  servicesOf, sortListeners, stateOf, whyNotRunning,
} from './cordis.ts'
