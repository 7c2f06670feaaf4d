/**
 * What the model knows of the world: the rows of the table, what each worker has in its memory, and what is on its
 * way between them. States are values: a step makes a new one.
 */
export interface State {
  /** Rows of every task in the order of their insertion; none before the task is inserted. */
  readonly tasks: readonly (readonly Row[])[];
  readonly workers: readonly Worker[];
  /** Faults that may still happen. */
  readonly faults: number;
}

export type Status = 'scheduled' | 'pending' | 'processing' | 'succeeded' | 'failed';

/** One attempt as it stands in the table. Rows name each other by their place among the rows of their task. */
export interface Row {
  readonly status: Status;
  /** `tentativa` */
  readonly attempt: number;
  readonly dead: boolean;
  /** `id_inicial`: undefined in the first attempt of a chain. */
  readonly first: number | undefined;
  /** `id_anterior` */
  readonly previous: number | undefined;
  /** `live_id` */
  readonly live: number | undefined;
  /** True when this very row has the payload. */
  readonly payload: boolean;
  /** `executor`: place of the worker. */
  readonly executor: number | undefined;
  /** `reserva` */
  readonly reservation: number;
  /** `perdas` */
  readonly losses: number;
  /** `reenfileirado` */
  readonly retried: boolean;
  /** `estouro_tentativas` */
  readonly exhausted: boolean;
  /** True when the row was deleted; it is kept here, for what came before it to be judged by. */
  readonly purged: boolean;
  /** Effects of this attempt that were committed: not a column, but what the handler wrote elsewhere. */
  readonly effects: number;
  /** True when an outcome was written under a claim that did not hold the row: what the fence is there for. */
  readonly usurped: boolean;
}

/** Where a row is. */
export interface Place {
  readonly task: number;
  readonly row: number;
}

/** A claim, as every statement of a worker shows it. */
export interface Claim extends Place {
  readonly worker: number;
  readonly reservation: number;
}

/**
 * An attempt in the memory of its worker. Its handler is `running`; it has `succeeded` or `failed` and its outcome
 * waits for the next statement; or it has sent COMMIT and the answer was lost, so its end is `unknown`.
 */
export interface Attempt extends Claim {
  readonly phase: 'running' | 'succeeded' | 'failed' | 'unknown';
  readonly dead: boolean;
  /** True when no further attempt is wanted. */
  readonly final: boolean;
}

/** A statement of the control connection that was sent by a connection lost since: it may yet arrive. */
export type LateStatement =
  | { readonly kind: 'settle'; readonly completions: readonly Claim[]; readonly demands: readonly Demand[] }
  | { readonly kind: 'fail'; readonly failures: readonly Attempt[] }
  | { readonly kind: 'release'; readonly claims: readonly Claim[] };

/** What a claim asks for: nothing, tasks that may run beside others, or one that must run alone. */
export type Demand = 'nothing' | 'shared' | 'alone';

export interface Worker {
  readonly up: boolean;
  /** True while the server holds its liveness lock. The worker learns of a loss later, or never. */
  readonly locked: boolean;
  /** True after a lost connection, until table and memory are compared. */
  readonly unsure: boolean;
  readonly attempts: readonly Attempt[];
  /** Rows that the table said it holds, between the two statements of a comparison. */
  readonly compared: readonly Claim[] | undefined;
  /** Rows of a lost worker, between the two statements of a recovery. */
  readonly recovering: readonly Claim[] | undefined;
  readonly late: LateStatement | undefined;
  /** COMMITs that were sent by connections lost since. */
  readonly lateCommits: readonly Claim[];
}

const freshWorker: Worker = {
  up: true,
  locked: true,
  unsure: false,
  attempts: [],
  compared: undefined,
  recovering: undefined,
  late: undefined,
  lateCommits: [],
};

/** The same worker's place, taken by a new process. */
export const restartedWorker = freshWorker;

export function initialState(tasks: number, workers: number, faults: number): State {
  return {
    tasks: Array.from({ length: tasks }, () => []),
    workers: Array.from({ length: workers }, () => freshWorker),
    faults,
  };
}

/** A row as `insert_one` and `insert_many` write it: due now, or (by the trigger) scheduled. */
export function firstRow(status: Status): Row {
  return {
    status,
    attempt: 1,
    dead: false,
    first: undefined,
    previous: undefined,
    live: undefined,
    payload: true,
    executor: undefined,
    reservation: 0,
    losses: 0,
    retried: false,
    exhausted: false,
    purged: false,
    effects: 0,
    usurped: false,
  };
}

export function rowAt(state: State, { task, row }: Place): Row {
  const found = state.tasks[task]?.[row];
  if (!found) throw new Error(`the model has no row ${task}/${row}`);
  return found;
}

export function workerAt(state: State, worker: number): Worker {
  const found = state.workers[worker];
  if (!found) throw new Error(`the model has no worker ${worker}`);
  return found;
}

/** Rows that are in the table, with their places. */
export function rowsOf(state: State): (Place & { readonly is: Row })[] {
  const found: (Place & { readonly is: Row })[] = [];
  for (let task = 0; task < state.tasks.length; task += 1) {
    const rows = state.tasks[task] ?? [];
    for (let row = 0; row < rows.length; row += 1) {
      const is = rows[row];
      if (is && !is.purged) found.push({ task, row, is });
    }
  }
  return found;
}

/** Claims on the rows that the table says a worker holds: `read_held`. */
export function heldBy(state: State, worker: number): Claim[] {
  const held: Claim[] = [];
  for (let task = 0; task < state.tasks.length; task += 1) {
    const rows = state.tasks[task] ?? [];
    for (let row = 0; row < rows.length; row += 1) {
      const is = rows[row];
      if (is?.status !== 'processing' || is.executor !== worker || is.purged) continue;
      held.push({ task, row, worker, reservation: is.reservation });
    }
  }
  return held;
}

export function isSameClaim(one: Claim, other: Claim): boolean {
  return (
    one.task === other.task &&
    one.row === other.row &&
    one.reservation === other.reservation &&
    one.worker === other.worker
  );
}

/** A claim by itself, whatever it was part of. */
export function toClaim({ task, row, worker, reservation }: Claim): Claim {
  return { task, row, worker, reservation };
}

export function isUnfinished({ status }: Row): boolean {
  return status === 'pending' || status === 'scheduled' || status === 'processing';
}

export function withRow(state: State, { task, row }: Place, changes: Partial<Row>): State {
  const rows = state.tasks[task] ?? [];
  return withRows(
    state,
    task,
    rows.map((one, index) => (index === row ? { ...one, ...changes } : one)),
  );
}

export function withRows(state: State, task: number, rows: readonly Row[]): State {
  return { ...state, tasks: state.tasks.map((one, index) => (index === task ? rows : one)) };
}

export function withWorker(state: State, worker: number, changes: Partial<Worker>): State {
  return {
    ...state,
    workers: state.workers.map((one, index) => (index === worker ? { ...one, ...changes } : one)),
  };
}
