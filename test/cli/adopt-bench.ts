import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { DeadTaskHandler, Subscriber, TaskHandler } from '../../lib/index.js';
import { useDatabase, type TestDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { runCli, type CliResult } from './support.js';

/** What `adopt --json` answers. */
interface AdoptReport {
  readonly channel: string;
  readonly adopted: boolean;
  readonly statuses: readonly { status: string | null; count: number }[];
  readonly findings: readonly {
    kind: string;
    weight: string;
    count?: number;
    examples?: readonly string[];
  }[];
  readonly steps: readonly { what: string; ms?: number }[];
}

/** Runs `adopt` on tables of a database of its own. */
interface AdoptBench {
  readonly database: TestDatabase;
  /** A name that no table has; the other functions work on that one from now on. */
  readonly nextTable: () => string;
  readonly adopt: (...args: string[]) => Promise<CliResult>;
  /** The answer of `--json` of a command that has to succeed and say nothing else. */
  readonly report: (...args: string[]) => Promise<AdoptReport>;
  /** Runs everything that is due to its end, on a table that has to be complete; returns the calls of handlers, sorted. */
  readonly runToTheEnd: (queue?: string) => Promise<readonly string[]>;
}

export async function adoptBench(): Promise<AdoptBench> {
  const database = await useDatabase();
  let table = '';
  const adopt: AdoptBench['adopt'] = (...args) => runCli(['adopt', table, '--url', database.url, ...args]);
  return {
    database,
    nextTable: () => {
      table = `fila_${randomBytes(4).toString('hex')}`;
      return table;
    },
    adopt,
    report: async (...args) => {
      const { code, stdout, stderr } = await adopt('--json', ...args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return JSON.parse(stdout) as AdoptReport;
    },
    runToTheEnd: async (queue = table) => {
      calls = [];
      const app = await startApp(database, {
        table,
        queue,
        schema: 'check',
        handlers: [Handlers],
        pollIntervalMs: 100,
        maxAttempts: 3,
      });
      await until(async () => {
        const { rows } = await database.pool.query(
          `select from ${table} where status in ('pendente', 'agendada') and data_hora < now() + interval '1 hour'
           union all select from ${table} where status = 'processando' and executor is not null`,
        );
        return rows.length === 0;
      }, 'the end of every task');
      await app.close();
      return [...calls].sort();
    },
  };
}

let calls: string[] = [];

class Handlers {
  @TaskHandler('greet')
  greet(payload: string): void {
    calls.push(`greet ${payload}`);
  }

  @DeadTaskHandler('greet')
  mourn(payload: string): void {
    calls.push(`mourn ${payload}`);
  }

  @TaskHandler('fail', { maxAttempts: 2 })
  fail(payload: string): never {
    calls.push(`fail ${payload}`);
    throw new Error('never works');
  }

  @DeadTaskHandler('fail')
  mournFailed(payload: string): void {
    calls.push(`mourn ${payload}`);
  }

  @Subscriber('mail')
  mail(payload: string): void {
    calls.push(`mail ${payload}`);
  }
}
