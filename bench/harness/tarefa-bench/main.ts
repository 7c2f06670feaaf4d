import { runAdapter } from '../adapter/run-adapter.js';
import { openTarefa } from './tarefa-queue.js';

await runAdapter(openTarefa);
