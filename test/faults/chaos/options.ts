import { parseArgs } from 'node:util';
import type { GroundName } from './ground/ground.js';

/** What a chaos run may be told. */
export interface ChaosOptions {
  readonly database: GroundName;
  readonly minutes: number;
  readonly seed: number;
  /** How often each kind of fault must hit at least. */
  readonly hits: number;
  /** Tasks a second. */
  readonly rate: number;
  readonly workers: number;
  /** Faults that may be under way at once. */
  readonly overlap: number;
  readonly intervalMs: number;
  readonly confirmMs: number;
  readonly graceMs: number;
  /** Only kinds of faults that contain one of these. */
  readonly only: readonly string[];
  /** No kinds of faults that contain one of these. */
  readonly except: readonly string[];
  /** Whether the queue is a plain table, or divided into partitions. */
  readonly layout: 'plain' | 'partitioned';
  /** Where the report goes as JSON. */
  readonly out: string | undefined;
}

/** Whether a run has faults of that kind. */
export function isWanted({ only, except }: Pick<ChaosOptions, 'only' | 'except'>, kind: string): boolean {
  return only.some((part) => kind.includes(part)) && !except.some((part) => kind.includes(part));
}

/** Reads the command line; says what is wrong with it. */
export function readOptions(args: readonly string[]): ChaosOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      database: { type: 'string', default: 'postgres' },
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string' },
      hits: { type: 'string' },
      rate: { type: 'string', default: '120' },
      workers: { type: 'string', default: '4' },
      overlap: { type: 'string', default: '3' },
      'interval-ms': { type: 'string', default: '500' },
      'confirm-ms': { type: 'string', default: '2500' },
      'grace-ms': { type: 'string', default: '2500' },
      only: { type: 'string', default: '' },
      except: { type: 'string' },
      layout: { type: 'string', default: 'plain' },
      out: { type: 'string' },
    },
  });
  const number = (name: string, text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !(value >= 0)) throw new Error(`--${name} takes a number, not "${text}"`);
    return value;
  };
  const minutes = number('minutes', values.minutes);
  const { database, layout } = values;
  if (database !== 'postgres' && database !== 'mariadb') {
    throw new Error(`--database takes postgres or mariadb, not "${database}"`);
  }
  if (layout !== 'plain' && layout !== 'partitioned') {
    throw new Error(`--layout takes plain or partitioned, not "${layout}"`);
  }
  if (database === 'mariadb' && layout === 'partitioned')
    throw new Error('there are no partitions on MariaDB');
  const most = 2 ** 32;
  return {
    database,
    minutes,
    seed: values.seed === undefined ? Math.floor(Math.random() * most) : number('seed', values.seed),
    hits: values.hits === undefined ? Math.max(1, Math.floor(3 * minutes)) : number('hits', values.hits),
    rate: number('rate', values.rate),
    workers: number('workers', values.workers),
    overlap: number('overlap', values.overlap),
    intervalMs: number('interval-ms', values['interval-ms']),
    confirmMs: number('confirm-ms', values['confirm-ms']),
    graceMs: number('grace-ms', values['grace-ms']),
    only: values.only.split(','),
    except: values.except?.split(',') ?? [],
    layout,
    out: values.out,
  };
}
