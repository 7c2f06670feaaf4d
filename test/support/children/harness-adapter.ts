import { runAdapter } from '../../../bench/harness/adapter/run-adapter.js';
import { openTarefa } from '../../../bench/harness/tarefa-bench/tarefa-queue.js';

// The adapter for the public harness, as its image starts it.
await runAdapter(openTarefa);
