export {
  Departures, type FiberState, type Listener, Listeners, type NotRunning, type Registration, fibersOf, isActive, isBelow,
  isFailed, loadingFiber, missingServices, movingPart, nameOf, originalOf, partsOf, pluginOf, registrationsOf, renamed, servicesOf,
  sortListeners, stateOf, whyNotRunning,
} from './cordis.ts'
