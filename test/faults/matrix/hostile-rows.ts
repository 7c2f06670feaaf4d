import type { Pool } from 'pg';
import { hostileValues, isForeign, type Encoding, type HostileValue } from './hostile-values.js';

/** A column of a queue's tables, as the catalog has it. */
export interface Column {
  readonly name: string;
  readonly type: string;
}

/** A row to be written, and how it is called where a test fails. */
export interface HostileRow {
  readonly table: string;
  readonly column: string;
  readonly value: string;
  /** Kind, status and way of a task; which row it is of another table. */
  readonly variant: string;
  /** Statement that writes it and answers its `id`. */
  readonly sql: string;
}

/** A row that is in the table. */
export interface WrittenRow extends HostileRow {
  readonly id: string;
}

/** A worker that is registered and holds no lock: recovery takes over what it held. */
export const lostWorker = 900_000;

/** What a task of each kind is, beside the value that it is attacked with. */
const kinds = {
  task: { processo: `'hostile'`, payload: `'{}'` },
  failing: { processo: `'failing'`, payload: `'{}'` },
  publication: { processo: `'news'`, payload: `'{}'`, pub_sub: 'true' },
  delivery: {
    processo: `'news'`,
    subscriber_id: `'code'`,
    publication_id: `nextval('hostile_number')`,
    payload: `'{"publication":"{}","subscription":{"id":"code","processo":"news"}}'`,
  },
  webhook: {
    processo: `'news'`,
    subscriber_id: `'hook'`,
    publication_id: `nextval('hostile_number')`,
    payload: `(select json_build_object('publication', '{}', 'subscription', row_to_json(s))::text from tasks_subscriber s where s.id = 'hook')`,
  },
  dead: { processo: `'hostile'`, dead: 'true', live_id: `nextval('hostile_number')`, payload: `'{}'` },
} as const satisfies Record<string, Readonly<Record<string, string>>>;

type Kind = keyof typeof kinds;

const statuses: Readonly<Record<Kind, readonly string[]>> = {
  task: ['pendente', 'agendada', 'processando', 'sucesso'],
  failing: ['pendente'],
  publication: ['pendente'],
  delivery: ['pendente'],
  webhook: ['pendente'],
  dead: ['pendente', 'processando'],
};

const ofStatus: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  processando: { executor: `'${lostWorker}'`, reserva: '1', iniciada_em: 'now()' },
  sucesso: { finalizada_em: 'now()', iniciada_em: 'now()' },
  falha: { finalizada_em: 'now()', iniciada_em: 'now()' },
};

/** A producer may insert it so; everybody who may update can make it so. */
type Way = 'inserted' | 'updated';

/** Columns of a table of the queue, in their order. */
export async function columnsOf(pool: Pool, table: string): Promise<readonly Column[]> {
  const { rows } = await pool.query<Column>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  );
  return rows;
}

/** Each column of the task table with each of its values, in tasks of every kind and status. */
export function hostileTasks(columns: readonly Column[], encoding: Encoding): readonly HostileRow[] {
  return columns.flatMap(({ name, type }) =>
    valuesOf(type, encoding).flatMap((value) => [
      ...variants(name).map(([kind, status, way]) => taskRow(name, value, kind, status, way)),
    ]),
  );
}

/** Tasks that are hostile in all columns at once: the first with the first value of each column, and so on. */
export function allAtOnce(columns: readonly Column[], encoding: Encoding): readonly HostileRow[] {
  const attacked = columns.filter(({ name }) => name !== 'id' && name !== 'status');
  const most = Math.max(...attacked.map(({ type }) => hostileValues(type, encoding).length));
  return Array.from({ length: most }, (_, index) => {
    const sets = attacked.map(({ name, type }) => {
      const values = hostileValues(type, encoding);
      const { sql } = values[index % values.length] as HostileValue;
      return `${name} = ${sql === 'null' || sql.startsWith('null::') ? name : sql}`;
    });
    return {
      table: 'tasks',
      column: '(all)',
      value: `number ${index}`,
      variant: 'task sucesso updated',
      sql: updating({ ...kinds.task, status: `'sucesso'` }, sets.join(', ')),
    };
  });
}

/** Each column of another table with each of its values. */
export function hostileOthers(
  table: string,
  columns: readonly Column[],
  encoding: Encoding,
  base: Readonly<Record<string, string>>,
): readonly HostileRow[] {
  return columns.flatMap(({ name, type }) =>
    valuesOf(type, encoding).map((value) => {
      const row = { ...base, [name]: value.sql };
      return {
        table,
        column: name,
        value: value.name,
        variant: 'inserted',
        sql: `insert into ${table} (${Object.keys(row).join(', ')}) overriding system value values (${Object.values(row).join(', ')}) returning '0'`,
      };
    }),
  );
}

/** Writes them; returns those that the table took, and those that it refused though they break none of its rules. */
export async function write(
  pool: Pool,
  rows: readonly HostileRow[],
): Promise<{
  readonly written: readonly WrittenRow[];
  readonly refused: readonly (readonly [HostileRow, string])[];
}> {
  const { rows: answers } = await pool.query<{ ids: (string | null)[] }>('select write_hostile($1) as ids', [
    rows.map(({ sql }) => sql),
  ]);
  const ids = answers[0]?.ids ?? [];
  return {
    written: rows.flatMap((row, index) => {
      const id = ids[index];
      return id == null || id.startsWith('refused') ? [] : [{ ...row, id }];
    }),
    refused: rows.flatMap((row, index) => {
      const id = ids[index];
      return id?.startsWith('refused') === true ? [[row, id] as const] : [];
    }),
  };
}

/** What {@link write} needs in the database. A row that the table refuses is its producer's problem. */
export const writeHostile = `
create sequence if not exists hostile_number start 500000;
create or replace function update_hostile(inserting text, sets text) returns bigint language plpgsql as $$
declare
  own bigint;
begin
  execute inserting into own;
  execute 'update tasks set ' || sets || ' where id = $1 returning id' into own using own;
  return own;
end $$;
create or replace function write_hostile(statements text[]) returns text[] language plpgsql as $$
declare
  ids text[] := '{}';
  one text;
  id text;
begin
  foreach one in array statements loop
    begin
      execute one into id;
    exception
      when integrity_constraint_violation or program_limit_exceeded then id := null;
      when others then id := 'refused: ' || sqlstate || ' ' || sqlerrm;
    end;
    ids := ids || id;
  end loop;
  return ids;
end $$`;

function valuesOf(type: string, encoding: Encoding): readonly HostileValue[] {
  const values = hostileValues(type, encoding);
  return encoding === 'UTF8' ? values : values.filter((value) => isForeign(value, encoding));
}

function variants(column: string): readonly (readonly [Kind, string, Way])[] {
  if (column === 'id')
    return [['task', 'pendente', 'inserted'] as const, ['task', 'sucesso', 'updated'] as const];
  const all = (Object.keys(kinds) as Kind[]).flatMap((kind) =>
    statuses[kind].flatMap((status) =>
      (['inserted', 'updated'] as const)
        .filter(
          (way) =>
            way === 'updated' || (status === 'pendente' && (kind === 'task' || kind === 'publication')),
        )
        .map((way) => [kind, status, way] as const),
    ),
  );
  // The status is the value here.
  return column === 'status' ? all.filter(([, status]) => status === 'pendente') : all;
}

function taskRow(column: string, value: HostileValue, kind: Kind, status: string, way: Way): HostileRow {
  const base: Readonly<Record<string, string>> = {
    ...kinds[kind],
    status: `'${status}'`,
    data_hora: `now() - interval '1 second'`,
    ...ofStatus[status],
  };
  const sql =
    way === 'updated'
      ? updating(base, `${column} = ${value.sql}`)
      : inserting({ ...base, [column]: value.sql });
  return { table: 'tasks', column, value: value.name, variant: `${kind} ${status} ${way}`, sql };
}

function inserting(row: Readonly<Record<string, string>>): string {
  return `insert into tasks (${Object.keys(row).join(', ')}) values (${Object.values(row).join(', ')}) returning id`;
}

/** The insert's trigger does not see what is changed afterwards. */
function updating(row: Readonly<Record<string, string>>, sets: string): string {
  return `select update_hostile($row$${inserting(row)}$row$, $set$${sets}$set$)`;
}
