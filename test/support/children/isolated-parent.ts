import { startChildApp } from '../child-app.js';
import { ProcessHandlers } from './isolated-module.js';

/** A worker of the queue `tasks` whose handlers run in processes, started as `worker.ts` is. */
await startChildApp({ handlers: [ProcessHandlers] });
process.send?.({ type: 'ready' });
