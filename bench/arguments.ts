import { parseArgs } from 'node:util';

/** What was asked for. */
export interface Arguments {
  readonly quick: boolean;
  /** Parts of names; empty for all. */
  readonly scenarios: readonly string[];
  readonly peers: readonly string[];
  readonly runs: number;
  /** The Node.js that runs this library and the bare loop: `24` like the peers, or the running one. */
  readonly node: '24' | 'current';
  readonly out: string | undefined;
  /** Files of results to render; nothing is run then. */
  readonly render: readonly string[];
}

/** @param command such as `npm run bench` */
export const usageOf = (
  command: string,
  folder: string,
): string => `${command} -- [--quick] [--scenario PART]... [--peer PART]... [--runs N] [--node 24|current] [--out FILE]
${command} -- --render FILE...

  --quick     one short run of the main scenarios, in some minutes
  --scenario  only those whose name contains PART: drain, enqueue, wait, …
  --peer      only those whose name contains PART: tarefa, bare, pg-boss, tuned, …
  --runs      runs of each; the median counts (default 3, with --quick 1)
  --node      the Node.js for this library and the bare loop: 24 as for the peers (default), or the running one
  --out       also writes the result lines to FILE
  --render    runs nothing: makes ${folder}/RESULTS.md, its charts and ${folder}/results/latest.jsonl from these files`;

/** Reads the command line; undefined when help was asked for. */
export function readArguments(args: readonly string[]): Arguments | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      scenario: { type: 'string', multiple: true, default: [] },
      peer: { type: 'string', multiple: true, default: [] },
      runs: { type: 'string' },
      node: { type: 'string', default: '24' },
      out: { type: 'string' },
      render: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const runs = Number(values.runs ?? (values.quick ? 1 : 3));
  if (!Number.isInteger(runs) || runs < 1) throw new Error(`--runs takes a number, not "${values.runs}"`);
  if (values.node !== '24' && values.node !== 'current') throw new Error('--node takes 24 or current');
  if (values.render !== positionals.length > 0)
    throw new Error('--render takes files, and nothing else does');
  return {
    quick: values.quick,
    scenarios: values.scenario,
    peers: values.peer,
    runs,
    node: values.node,
    out: values.out,
    render: positionals,
  };
}

/** Whether a name contains one of the parts; every name does when none is given. */
export function isChosen(name: string, parts: readonly string[]): boolean {
  return parts.length === 0 || parts.some((part) => name.includes(part));
}
