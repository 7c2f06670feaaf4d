/** A row that some other program put into the queue, as no client of the library would. */
export interface HostileRow {
  /** What its `origem` begins with, after {@link hostile}. */
  readonly name: string;
  readonly columns: Readonly<Record<string, string | number>>;
  /** Status in which it has to stay, because nobody can say what it means; undefined: it has to end. */
  readonly stays?: string;
}

/** What `origem` of all hostile rows begins with: the judges of the ordinary tasks leave these rows out. */
export const hostile = 'hostile-';

const greatest = 2 ** 31 - 1;

export const hostileRows: readonly HostileRow[] = [
  { name: 'unknown status', columns: { status: 'xyz' }, stays: 'xyz' },
  { name: 'empty status', columns: { status: '' }, stays: '' },
  { name: 'status in capitals', columns: { status: 'PENDENTE' }, stays: 'PENDENTE' },
  { name: 'never', columns: { data_hora: 'infinity' }, stays: 'agendada' },
  { name: 'at once', columns: { data_hora: '-infinity' } },
  { name: 'scheduled for at once', columns: { status: 'agendada', data_hora: '-infinity' } },
  { name: 'late attempt', columns: { tentativa: 1_000 } },
  { name: 'columns of the library', columns: { reserva: greatest, perdas: greatest, rodada: greatest } },
  { name: 'highest priority', columns: { prioridade: greatest } },
  { name: 'broken payload', columns: { payload: '{"ms":' } },
  { name: 'empty payload', columns: { payload: '' } },
  { name: 'payload of another type', columns: { payload: '"x"' } },
  { name: 'metadata of another type', columns: { metadados: '"x"' } },
  // In its last attempt, as a run has no time for all.
  { name: 'unknown task', columns: { processo: 'nobody knows this', tentativa: 60 } },
];

/** Inserts one as a program does that knows nothing of the library but its table. */
export function insertHostile({ name, columns }: HostileRow): {
  readonly sql: string;
  readonly values: unknown[];
} {
  const all = { processo: 'hostile', payload: '{}', origem: hostile + name, ...columns };
  const names = Object.keys(all);
  const places = names.map((_, index) => `$${index + 1}`);
  return {
    sql: `insert into tasks (${names.join(', ')}) values (${places.join(', ')}) returning id::text`,
    values: Object.values(all),
  };
}

/** Condition that `row` is an ordinary one. */
export function isOrdinary(row: string): string {
  return `not starts_with(${row}.origem, '${hostile}')`;
}

/** Condition that `row` has to end and has not yet: what a run waits for when it drains. */
export function isToEnd(row: string): string {
  const names = hostileRows
    .filter(({ stays }) => stays !== undefined)
    .map(({ name }) => `'${hostile}${name}'`);
  return `${isUnfinished(row)} and ${row}.origem not in (${names.join(', ')})`;
}

/** Condition that `row` is not over. */
export function isUnfinished(row: string): string {
  return `${row}.status in ('pendente', 'agendada', 'processando')`;
}
