import { TarefaError } from '../../../errors.js';
import { quoteIdentifier, quoteLiteral } from '../identifiers.js';
import { buildStep, dropStep } from '../migration/index-steps.js';
import {
  columnSteps,
  companionSteps,
  functionSteps,
  triggerSteps,
  versionSteps,
  viewSteps,
  type Survey,
} from '../migration/migration-steps.js';
import type { SchemaSession } from '../migration/schema-session.js';
import { locks, shortStep, type Step } from '../migration/step.js';
import { addColumnsSql, columnSql, fillFactor, ownName } from '../schema/schema-objects.js';
import { contractColumns, ownColumns, queueIndexes, type IndexDefinition } from '../schema/schema.js';
import { tellApart } from './duplicates.js';
import type { Bell, NsjTable } from './nsj-table.js';
import { describeBytes, rewriteSeconds } from './durations.js';
import { isStoredAlike } from './time-findings.js';

/** Options of an adoption. */
export interface AdoptionWishes {
  /** The zone of times without one; required where a column has such times. */
  readonly timeZone: string | undefined;
  readonly dropOldIndexes: boolean;
  /** Abandoned attempts become pending again. */
  readonly giveBack: boolean;
}

/** A unique index may meet duplicates that were made after the others were told apart. */
const uniqueTries = 5;
const rowsAtOnce = 1_000;

/** Steps that turn a table of nsj-queue-lib into a queue; finished ones are left out. */
export function adoptionSteps(table: NsjTable, wishes: AdoptionWishes): readonly Step[] {
  const { survey } = table;
  const drops = wishes.dropOldIndexes ? table.oldIndexes.map((name) => dropStep(survey.tables, name)) : [];
  // It was adopted before: by this command, or by a start.
  if (survey.found.version !== undefined) return [...bellSteps(table), ...drops];
  const isConverted = table.zoneless.length > 0;
  return [
    ...companionSteps(survey),
    ...subscriptionTimeSteps(table, wishes),
    // Indexes with converted times in them would be rebuilt under the lock.
    ...(isConverted ? drops : []),
    ...(isConverted ? conversionSteps(table, wishes) : plainColumnSteps(table)),
    ...priorityStep(table),
    ...indexSteps(survey),
    ...(isConverted ? [] : bellSteps(table)),
    laterStep(survey),
    ...(wishes.giveBack ? [giveBackStep(survey)] : []),
    ...functionSteps(survey),
    ...viewSteps(survey),
    ...(isConverted ? [] : drops),
    ...versionSteps(survey),
  ];
}

const priority = contractColumns.filter(({ name }) => name === 'prioridade');

function plainColumnSteps({ survey, hasPriority, hasFillFactor }: NsjTable): readonly Step[] {
  const { tables, found } = survey;
  if (hasPriority && hasFillFactor) return columnSteps(survey);
  const missing = [...priority, ...ownColumns].filter(({ name }) => !found.queueColumns.has(name));
  const sql = [
    ...(missing.length > 0 ? [addColumnsSql(tables.queue, missing)] : []),
    ...(hasFillFactor ? [] : [`alter table ${tables.queue} set (fillfactor = ${fillFactor})`]),
  ];
  const what =
    missing.length > 0 ? `add ${missing.map(({ name }) => name).join(', ')}` : 'leave room in pages';
  return [shortStep(what, { lock: locks.instant(tables.queue), table: tables.queue, sql })];
}

/** One statement, so that the table is locked, and rewritten, once. Triggers that look at the times have to go before. */
function conversionSteps(table: NsjTable, { timeZone }: AdoptionWishes): readonly Step[] {
  const { survey, zoneless, hasFillFactor, totalBytes } = table;
  const { tables, found } = survey;
  const zone = timeZone ?? 'UTC';
  const alike = isStoredAlike(zone);
  const missing = [...priority, ...ownColumns].filter(({ name }) => !found.queueColumns.has(name));
  const changes = [
    ...missing.map((column) => `add column if not exists ${columnSql(column)}`),
    ...zoneless.flatMap((name) => convertSql(name, zone)),
    ...(hasFillFactor ? [] : [`set (fillfactor = ${fillFactor})`]),
  ];
  const sql = [
    `set local timezone = 'UTC'`,
    ...table.bells.filter((bell) => isTheirs(bell, survey)).map((bell) => dropBellSql(table, bell)),
    `alter table ${tables.queue}\n  ${changes.join(',\n  ')}`,
    ...triggerSteps(survey).flatMap((step) => step.sql),
  ];
  const lock = alike
    ? `ACCESS EXCLUSIVE on ${tables.queue} while indexes with times in them are rebuilt`
    : `ACCESS EXCLUSIVE on ${tables.queue} while ${describeBytes(totalBytes)} are rewritten, about ${rewriteSeconds(totalBytes)} s`;
  return [
    shortStep(
      `convert ${zoneless.join(', ')} to timestamptz, read as ${zone}, and add columns and triggers`,
      {
        lock,
        table: tables.queue,
        sql,
      },
    ),
  ];
}

function convertSql(column: string, zone: string): readonly string[] {
  const using = isStoredAlike(zone) ? '' : ` using ${column} at time zone ${quoteLiteral(zone)}`;
  const rest = contractColumns.find(({ name }) => name === column)?.rest;
  return [
    `alter column ${column} drop default`,
    `alter column ${column} type timestamp with time zone${using}`,
    ...(rest ? [`alter column ${column} set ${rest}`] : []),
  ];
}

function subscriptionTimeSteps(
  { survey, zonelessSubscriptions }: NsjTable,
  { timeZone = 'UTC' }: AdoptionWishes,
): readonly Step[] {
  const { subscriptions } = survey.tables;
  if (subscriptions === undefined || zonelessSubscriptions.length === 0) return [];
  const using = isStoredAlike(timeZone) ? '' : ` using created_at at time zone ${quoteLiteral(timeZone)}`;
  return [
    shortStep(`convert created_at of ${subscriptions} to timestamptz`, {
      lock: locks.instant(subscriptions),
      table: subscriptions,
      sql: [
        `set local timezone = 'UTC'`,
        `alter table ${subscriptions} alter column created_at drop default, alter column created_at type timestamp with time zone${using}, alter column created_at set default now()`,
      ],
    }),
  ];
}

/** Claims order by priority, so every waiting attempt needs one. */
function priorityStep({ survey, hasPriority }: NsjTable): readonly Step[] {
  if (!hasPriority) return [];
  const { queue } = survey.tables;
  const sql = `update ${queue} set prioridade = 50 where id = any(array(
    select id from ${queue} where prioridade is null and status in ('pendente', 'agendada', 'processando') limit ${rowsAtOnce}))
    returning 1`;
  return [rowsStep('give attempts without a priority the default', survey, sql)];
}

/** Duplicates are told apart after the indexes that help to find them, and before those that forbid them. */
function indexSteps(survey: Survey): readonly Step[] {
  const { tables, shape, wanted } = survey;
  const missing = queueIndexes.filter(({ suffix }) => {
    const state = shape.indexes.get(suffix);
    return state?.isValid !== true || state.definition !== wanted.indexes.get(suffix)?.definition;
  });
  const definition = ({ suffix }: IndexDefinition): string => wanted.indexes.get(suffix)?.definition ?? '';
  const plain = missing.filter(({ unique }) => !unique);
  const unique = missing.filter((index) => index.unique);
  return [
    ...plain.map((index) => buildStep(tables, index, definition(index))),
    ...(unique.length > 0 ? [tellApartStep(survey)] : []),
    ...unique.map((index) => uniqueStep(survey, index, definition(index))),
  ];
}

function tellApartStep({ tables }: Survey): Step {
  return {
    what: 'tell duplicate attempts apart',
    lock: locks.rows,
    sql: [],
    run: async (session) => void (await tellApart(session, tables.queue)),
  };
}

/** Workers of nsj-queue-lib that still run may have made more duplicates. */
function uniqueStep({ tables }: Survey, index: IndexDefinition, definition: string): Step {
  const step = buildStep(tables, index, definition);
  const run = async (session: SchemaSession): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await step.run(session);
      } catch (error) {
        const isCopy = error instanceof TarefaError && (error.cause as { code?: unknown })?.code === '23505';
        if (!isCopy || attempt === uniqueTries) throw error;
        await tellApart(session, tables.queue);
      }
    }
  };
  return { ...step, run };
}

/** Replaces their triggers with ours in one transaction: no insert goes unheard, or rings twice for long. */
function bellSteps(table: NsjTable): readonly Step[] {
  const { survey } = table;
  const { tables } = survey;
  const theirs = table.bells.filter((bell) => isTheirs(bell, survey));
  const ours = triggerSteps(survey);
  if (theirs.length === 0) return ours;
  const sql = [...ours.flatMap((step) => step.sql), ...theirs.map((bell) => dropBellSql(table, bell))];
  return [
    shortStep(
      `replace ${theirs.map(({ name }) => name).join(', ')} with the triggers ${ownName(tables, 'schedule')} and ${ownName(tables, 'ring')}`,
      { lock: locks.instant(tables.queue), table: tables.queue, sql },
    ),
  ];
}

/** True for a trigger that rings the queue's channel, as nsj-queue-lib's does. */
export function isTheirs({ channel }: Bell, { names }: Survey): boolean {
  return channel === names.channel;
}

function dropBellSql({ survey }: NsjTable, { name }: Bell): string {
  return `drop trigger if exists ${quoteIdentifier(name)} on ${survey.tables.queue}`;
}

/**
 * nsj-queue-lib inserts tasks for later as pending. The trigger files new ones from now on, so none is left when this ends.
 * It waits for rows that another session has locked, which would otherwise stay pending.
 */
function laterStep(survey: Survey): Step {
  const { queue } = survey.tables;
  const isLater = `status = 'pendente' and data_hora > clock_timestamp()`;
  const sql = `update ${queue} set status = 'agendada'
    where id = any(array(select id from ${queue} where ${isLater} limit ${rowsAtOnce})) and ${isLater} returning 1`;
  return rowsStep('mark pending tasks that are due later as scheduled', survey, sql);
}

/** Only attempts that no worker of nsj-queue-lib has locked. */
function giveBackStep(survey: Survey): Step {
  const { queue } = survey.tables;
  const sql = `with running as materialized (
      select id from ${queue} where status = 'processando' and executor is null limit ${rowsAtOnce} for no key update skip locked
    ), abandoned as materialized (
      select id from running where pg_try_advisory_xact_lock(id)
    )
    update ${queue} set status = 'pendente' where id = any(array(select id from abandoned)) returning 1`;
  return rowsStep('give back abandoned attempts', survey, sql);
}

/** Changes rows in blocks until none is left. */
function rowsStep(what: string, { tables }: Survey, sql: string): Step {
  return {
    what,
    lock: locks.rows,
    sql: [sql],
    run: async (session) => {
      for (let isDone = false; !isDone;) {
        isDone = await session.short(
          what,
          tables.queue,
          async (tx) => (await tx.query(sql)).rows.length === 0,
        );
      }
    },
  };
}
