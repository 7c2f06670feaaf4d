import type { QueueNames } from '../schema/inspect-schema.js';
import { resolveTables } from '../schema/inspect-schema.js';
import { surveyQueue } from '../migration/migrate.js';
import type { SchemaSession } from '../migration/schema-session.js';
import { runSteps, type Step, type StepHooks } from '../migration/step.js';
import { ownName } from '../schema/schema-objects.js';
import { adoptionSteps, isTheirs, type AdoptionWishes } from './adoption-steps.js';
import { counted, type Finding } from './finding.js';
import { readNsjTable, type NsjTable } from './nsj-table.js';
import { readRows, type StatusCount } from './row-findings.js';
import { readTimes, readZone } from './time-findings.js';

/** Which table, and how. */
export interface AdoptionRequest extends AdoptionWishes {
  /** Its channel is what the table's own trigger rings, unless `channelIsGiven`. */
  readonly names: QueueNames;
  readonly channelIsGiven: boolean;
  readonly maxPayloadBytes: number;
}

/** What was found, and what adopting does. */
export interface AdoptionPlan {
  readonly table: NsjTable;
  /** What inserts ring. */
  readonly channel: string;
  /** True when this library's tables were complete before. */
  readonly isAdopted: boolean;
  readonly statuses: readonly StatusCount[];
  readonly findings: readonly Finding[];
  readonly steps: readonly Step[];
}

/**
 * Looks at a table of nsj-queue-lib, and plans its adoption. Changes nothing.
 *
 * @throws {TarefaError} `SCHEMA_CONFLICT`, `INPUT_INVALID`
 */
export async function planAdoption(session: SchemaSession, request: AdoptionRequest): Promise<AdoptionPlan> {
  const timeZone = request.timeZone === undefined ? undefined : await readZone(session, request.timeZone);
  const survey = await surveyQueue(session, request.names);
  const first = await readNsjTable(session, survey);
  const channel = chooseChannel(first, request);
  const table: NsjTable = { ...first, survey: { ...survey, names: { ...survey.names, channel } } };
  const isAdopted = survey.found.version !== undefined;
  const rows = isAdopted ? { statuses: [], findings: [] } : await readRows(session, table, request);
  const findings = [
    ...(isAdopted ? [] : await readTimes(session, table, timeZone)),
    ...rows.findings,
    ...bellFindings(table, request.channelIsGiven),
    ...indexFindings(table, request.dropOldIndexes),
    ...addedFindings(table),
  ];
  const steps = adoptionSteps(table, { ...request, timeZone });
  return { table, channel, isAdopted, statuses: rows.statuses, findings, steps };
}

/** Runs the plan of {@link planAdoption} while producers go on. Run again after an interruption, it goes on. */
export async function adopt(
  session: SchemaSession,
  request: AdoptionRequest,
  hooks: StepHooks & { readonly onPlan: (plan: AdoptionPlan) => void | Promise<void> },
): Promise<AdoptionPlan> {
  await session.takeTurn(await resolveTables(session, request.names));
  const plan = await planAdoption(session, request);
  await hooks.onPlan(plan);
  await runSteps(session, plan.steps, hooks);
  return plan;
}

/** Workers of nsj-queue-lib listen where the trigger of their table rings. */
function chooseChannel({ bells, survey }: NsjTable, { names, channelIsGiven }: AdoptionRequest): string {
  const kept = survey.found.triggers.get(ownName(survey.tables, 'ring'));
  if (kept !== undefined) return kept;
  const channels = new Set(bells.flatMap(({ channel }) => channel ?? []));
  const [only] = channels;
  return !channelIsGiven && channels.size === 1 && only !== undefined ? only : names.channel;
}

function bellFindings({ bells, survey }: NsjTable, channelIsGiven: boolean): readonly Finding[] {
  const { channel } = survey.names;
  const theirs = bells.filter((bell) => isTheirs(bell, survey));
  const others = bells.filter((bell) => !isTheirs(bell, survey));
  // A given channel overrides functions that cannot be read, not a channel that can be.
  const isRefused = others.some(({ channel: other }) => other !== undefined || !channelIsGiven);
  const findings: Finding[] = [];
  if (theirs.length > 0) {
    findings.push({
      kind: 'trigger',
      weight: 'note',
      what: `the trigger ${theirs.map(({ name }) => name).join(', ')} rings the channel ${channel}`,
      then: `${ownName(survey.tables, 'ring')} takes its place on the same channel; its function stays. To have it back: ${theirs.map(({ definition }) => definition).join('; ')}`,
    });
  }
  if (theirs.length === 0 && isRefused && !survey.found.triggers.has(ownName(survey.tables, 'ring'))) {
    findings.push({
      kind: 'other-channel',
      weight: 'obstacle',
      what: `inserts ring ${others.map((bell) => `${bell.channel === undefined ? 'a channel that the function does not name plainly' : `the channel ${bell.channel}`} (trigger ${bell.name})`).join(', ')}, and this queue would listen on ${channel}`,
      then: 'pass the channel of the table as --queue; if the trigger is not from nsj-queue-lib, or nothing listens there any more, drop it first',
    });
  } else if (others.length > 0) {
    findings.push({
      kind: 'other-triggers',
      weight: 'note',
      what: `the trigger ${others.map(({ name }) => name).join(', ')} also notifies`,
      then: others.some(({ channel: other }) => other === undefined)
        ? `it stays, because its function does not name its channel plainly. If that is ${channel}, drop it: every insert would ring twice`
        : 'it stays',
    });
  }
  return findings;
}

function indexFindings({ oldIndexes }: NsjTable, isDropped: boolean): readonly Finding[] {
  if (oldIndexes.length === 0) return [];
  return [
    {
      kind: 'old-indexes',
      weight: 'note',
      count: oldIndexes.length,
      what: `${counted(oldIndexes.length, 'index', 'indexes')} of nsj-queue-lib: ${oldIndexes.join(', ')}`,
      then: isDropped
        ? 'dropped. Workers of nsj-queue-lib then search the whole table'
        : 'kept. Nothing here uses them, and every attempt keeps them up to date: a worker drains 57,000 tasks a second with them and 75,000 without. When the last worker and monitor of nsj-queue-lib is gone: --drop-old-indexes',
    },
  ];
}

function addedFindings({ added: { columns, triggers } }: NsjTable): readonly Finding[] {
  const added = [...columns.map((name) => `column ${name}`), ...triggers.map((name) => `trigger ${name}`)];
  if (added.length === 0) return [];
  return [{ kind: 'added', weight: 'note', what: `you have added: ${added.join(', ')}`, then: 'they stay' }];
}
