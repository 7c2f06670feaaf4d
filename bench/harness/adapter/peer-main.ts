import { pathToFileURL } from 'node:url';
import type { OpenHarnessedQueue } from './harnessed-queue.js';
import { runAdapter } from './run-adapter.js';

// Runs a peer's module below bench/peers, which no compiler sees: node peer-main.js FILE
const [file = ''] = process.argv.slice(2);
const { default: open } = (await import(pathToFileURL(file).href)) as { default: OpenHarnessedQueue };
await runAdapter(open);
