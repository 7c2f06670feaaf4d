import { expect } from 'vitest';
import type { QueueBench } from '../worker/queue-bench.js';
import { runCli, type CliOptions, type CliResult } from './support.js';

/** Runs command lines on the queue `tasks` of a test file. */
export interface QueueCli {
  readonly env: Readonly<Record<string, string>>;
  run(args: readonly string[], options?: CliOptions): Promise<CliResult>;
  /** The answer of one that has to end with 0 and say nothing else, or with that code. */
  json<T = Record<string, unknown>>(args: readonly string[], code?: number): Promise<T>;
  /** Inserts rows by SQL and answers their ids. */
  rows(columns: string, ...values: readonly string[]): Promise<readonly string[]>;
}

export function useCli(bench: QueueBench): QueueCli {
  const run: QueueCli['run'] = (args, options) => runCli(args, { env: environment(), ...options });
  const environment = (): Record<string, string> => ({
    DATABASE_URL: bench.database.url,
    QUEUE_TABLE: 'tasks',
  });
  return {
    get env() {
      return environment();
    },
    run,
    json: async <T>(args: readonly string[], code = 0) => {
      const answer = await run([...args, '--json']);
      expect(answer).toMatchObject({ code, ...(code === 0 ? { stderr: '' } : {}) });
      return JSON.parse(answer.stdout) as T;
    },
    rows: async (columns, ...values) => {
      const { rows } = await bench.pool.query<{ id: string }>(
        `insert into tasks (${columns}) values ${values.map((value) => `(${value})`).join(', ')} returning id`,
      );
      return rows.map(({ id }) => id);
    },
  };
}
