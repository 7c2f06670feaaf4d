import { parseArgs } from 'node:util';

/** What was asked for. */
export interface HarnessArguments {
  readonly quick: boolean;
  /** Parts of names; empty for all. */
  readonly systems: readonly string[];
  /** Parts of scenarios' names. */
  readonly phases: readonly string[];
  readonly out: string | undefined;
  /** Files of results to render; nothing is run then. */
  readonly render: readonly string[];
}

export const usage = `npm run bench:harness -- [--quick] [--system PART]... [--phase PART]... [--out FILE]
npm run bench:harness -- --render FILE...

  --quick   phases of some seconds, in twenty minutes; without it those of the public harness, in three hours
  --system  only those whose name contains PART: tarefa, pg-boss, graphile-worker
  --phase   only scenarios whose name contains PART: postgres_restart, kill, idle_in_tx, chaos, pressure, …
  --out     also writes the result lines to FILE
  --render  runs nothing: makes bench/harness/RESULTS.md and results/latest.jsonl from these files`;

/** Reads the command line; undefined when help was asked for. */
export function readHarnessArguments(args: readonly string[]): HarnessArguments | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      system: { type: 'string', multiple: true, default: [] },
      phase: { type: 'string', multiple: true, default: [] },
      out: { type: 'string' },
      render: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  if (values.render !== positionals.length > 0)
    throw new Error('--render takes files, and nothing else does');
  return {
    quick: values.quick,
    systems: values.system,
    phases: values.phase,
    out: values.out,
    render: positionals,
  };
}
