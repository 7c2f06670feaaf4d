import { mostLosses } from '../../lib/storage/failure-rule.js';
import { isUnfinished, rowsOf, type Row, type State, type Status } from './state.js';
import type { Setting } from './step.js';

/** What must not happen to a row, by its status before and after a step. Purge is no status. */
const legal: ReadonlySet<string> = new Set([
  'scheduled>pending',
  'pending>processing',
  'processing>succeeded',
  'processing>failed',
  'processing>pending',
] satisfies `${Status}>${Status}`[]);

/** Says what is wrong with a step and where it has led to; undefined when nothing is. */
export function violation(before: State, after: State, setting: Setting): string | undefined {
  for (const [task, rows] of after.tasks.entries()) {
    const old = before.tasks[task];
    if (old === rows) continue;
    for (const wrong of [wrongTransition(old ?? [], rows), ...wrongTask(rows, task, setting)]) {
      if (wrong !== undefined && (setting.only ?? wrong) === wrong) return wrong;
    }
  }
  const wrong = before.workers === after.workers ? undefined : wrongWorkers(after, setting);
  return (setting.only ?? wrong) === wrong ? wrong : undefined;
}

/** I9. */
function wrongTransition(before: readonly Row[], after: readonly Row[]): string | undefined {
  for (const [place, row] of after.entries()) {
    const was = before[place];
    if (!was || was.status === row.status) continue;
    const transition = `${was.status}>${row.status}`;
    if (!legal.has(transition)) return `illegal transition ${transition}`;
  }
  return undefined;
}

function wrongTask(rows: readonly Row[], task: number, setting: Setting): readonly (string | undefined)[] {
  const kind = setting.tasks[task] ?? 'batch';
  const live = rows.filter(({ dead }) => !dead);
  const dead = rows.filter((row) => row.dead);
  return [
    wrongChain(rows, live, setting.maxAttempts),
    wrongChain(rows, dead, setting.maxDeadAttempts),
    wrongEffects(live, kind),
    wrongEffects(dead, kind),
    wrongDeath(rows, live, dead),
    wrongTable(rows),
    kind === 'innocent' && dead.length > 0 ? 'an innocent was buried' : undefined,
  ];
}

/** I5, I7: attempts 1 to n, each one's successor the next, one of them unfinished at most. */
function wrongChain(rows: readonly Row[], chain: readonly Row[], most: number): string | undefined {
  const first = chain[0];
  if (!first) return undefined;
  if (chain.length > most) return 'more attempts than there may be';
  for (const [place, row] of chain.entries()) {
    const before = chain[place - 1];
    if (row.attempt !== place + 1) return 'a gap in the attempts';
    if (row.previous !== (before && rows.indexOf(before)))
      return 'an attempt names another as the one before';
    if (row.first !== (before && rows.indexOf(first))) return 'an attempt names another as the first';
    if (row.losses >= mostLosses) return 'more losses than there may be';
    if (row.usurped) return 'an outcome was written under a claim that did not hold the row';
    const isLast = place === chain.length - 1;
    if (!isLast && row.status !== 'failed') return 'an attempt that did not fail has a successor';
    if (row.retried !== !isLast)
      return 'an attempt is marked as retried and has no successor, or the other way';
    if (row.exhausted !== (isLast && row.status === 'failed'))
      return 'the wrong attempt is marked as the last';
  }
  return undefined;
}

/** I2, I3: at most one effect, and exactly then when the attempt has succeeded. */
function wrongEffects(chain: readonly Row[], kind: Setting['tasks'][number]): string | undefined {
  let effects = 0;
  for (const row of chain) {
    effects += row.effects;
    const expected = kind === 'transaction' && row.status === 'succeeded' ? 1 : 0;
    if (row.effects > expected) return effects > 1 ? 'a double effect' : 'an effect without success';
    if (row.effects < expected) return 'a success without its effect';
  }
  return effects > 1 ? 'a double effect' : undefined;
}

/** I6: a dead chain for every chain that ran out of attempts, and for no other. */
function wrongDeath(rows: readonly Row[], live: readonly Row[], dead: readonly Row[]): string | undefined {
  const died = live.at(-1)?.exhausted === true;
  const starts = dead.filter(({ previous }) => previous === undefined);
  if (starts.length > 1) return 'a second dead chain';
  if (died !== (starts.length === 1))
    return died ? 'a chain died without a dead chain' : 'a dead chain too many';
  const root = live[0] && rows.indexOf(live[0]);
  return dead.some((row) => row.live !== root) ? 'a dead chain of another task' : undefined;
}

/** I5, I12, I13: what is to run has its payload, and what its key is made from. */
function wrongTable(rows: readonly Row[]): string | undefined {
  const unfinished = rows.filter((row) => !row.purged && isUnfinished(row));
  if (unfinished.length > 1) return 'two unfinished attempts';
  const [row] = unfinished;
  if (!row)
    return rows.some((one) => one.purged && isUnfinished(one)) ? 'an unfinished row was purged' : undefined;
  const holder = row.first === undefined ? row : rows[row.first];
  if (!holder || holder.purged || !holder.payload) return 'an attempt without its payload';
  if (row.live !== undefined && rows[row.live]?.purged) return 'the chain that died was purged too early';
  return undefined;
}

/** I4: a claim is in one memory only, and what is run alone is alone. */
function wrongWorkers(state: State, { rules }: Setting): string | undefined {
  const claims = new Set<string>();
  for (const { attempts } of state.workers) {
    for (const { task, row, reservation } of attempts) {
      const claim = `${task}.${row}.${reservation}`;
      if (claims.has(claim)) return 'two workers have the same claim';
      claims.add(claim);
    }
    const running = attempts.filter(({ phase }) => phase === 'running');
    if (running.length > 1 && running.some(({ task, row }) => isIsolated(state, rules, task, row))) {
      return 'an isolated attempt runs beside another';
    }
  }
  return undefined;
}

function isIsolated(state: State, rules: Setting['rules'], task: number, row: number): boolean {
  const is = state.tasks[task]?.[row];
  return is !== undefined && rules.isIsolated(is);
}

/** True when every task was inserted and has ended, one way or the other. */
export function isOver(state: State): boolean {
  if (state.tasks.some((rows) => rows.length === 0)) return false;
  for (const { is } of rowsOf(state)) if (isUnfinished(is)) return false;
  return true;
}
