import type { EndpointStore } from '../endpoints.js';
import { needsDatabase } from './needs-database.js';

/** {@link EndpointStore} of a queue that delivers no webhooks. */
export const memoryEndpoints: EndpointStore = {
  holds: unavailable,
  haveUrls: unavailable,
  address: unavailable,
  find: unavailable,
  list: unavailable,
  troubled: unavailable,
  noteSuccess: unavailable,
  noteFailure: unavailable,
  deactivate: unavailable,
  reactivate: unavailable,
  replayFailed: unavailable,
  secrets: unavailable,
  addSecret: unavailable,
  moveSecrets: unavailable,
  isSigned: unavailable,
  forget: unavailable,
  sealKeys: unavailable,
};

async function unavailable(): Promise<never> {
  throw needsDatabase('a webhook');
}
