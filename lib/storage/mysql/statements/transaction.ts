import type { QueueTables } from '../identifiers.js';
import { now } from '../sql-time.js';
import { named } from '../statement.js';
import { complete } from './complete-in.js';
import { byKey } from './held.js';

// What a handler's transaction begins and ends with, several statements in one text.

/** A text and how many statements it has: so many answers come before that of what is sent behind it. */
export interface Beginning {
  readonly text: string;
  readonly statements: number;
}

/** The savepoint of a transaction for one task. */
export const savepoint = 'tarefa';

/**
 * A savepoint tells whether the transaction is still the one that was begun. A deadlock, a statement that defines data and COMMIT
 * end it, and by themselves the statements after them would each commit: without autocommit they do not.
 */
export const begin = (name: string): Beginning => ({
  text: named('begin', `set autocommit = 0; start transaction; savepoint ${name}`),
  statements: 3,
});

/** Undoes all, and leaves the connection as its pool lends it. */
export const undo = named('undo', 'rollback; set autocommit = 1');

/** Commits, and leaves the connection as its pool lends it. */
export const commit = 'commit; set autocommit = 1';

/** Raises an error unless the statement before has changed so many rows: what is sent behind it is not run then. */
const demand = (rows: string): string =>
  `select if(row_count() = ${rows}, 1, (select 1 union all select 2)) as done`;

/**
 * Completes a task as the last statement of its transaction, and commits. It fails at the savepoint when the transaction has been
 * ended (1305), and at the demand when the attempt is no longer this worker's (1242). Parameters: those of `complete`.
 */
export const completeAndCommit = (tables: Pick<QueueTables, 'queue'>): string =>
  [`release savepoint ${savepoint}`, complete(tables), demand('1'), commit].join(';\n');

// Groups.

/** Names of savepoints, by the number of the task in its group. */
export const partSavepoint = (part: number): string => `${savepoint}_${part}`;

/** Marks of groups are in the table of the history, at a time that no reader of it asks for. */
const markedAt = `'1970-01-02'`;

const mark = ({ history }: Pick<QueueTables, 'history'>, name: string): string =>
  `insert into ${history} (at, route, waits, runs) values (${markedAt}, '${name}', '[]', '[]')`;

/** Removes the mark of a group. One that is there tells that somebody has committed the group's transaction. */
export const unmark = ({ history }: Pick<QueueTables, 'history'>, name: string): string =>
  named('unmark_group', `delete from ${history} where at = ${markedAt} and route = '${name}'`);

/**
 * Begins the next task of a group. It fails when the task before has ended the transaction. The second one leaves a mark, because
 * it is the first that could commit another's work.
 *
 * @param name of the group's mark: letters, digits and colons
 */
export const beginPart = (tables: Pick<QueueTables, 'history'>, part: number, name: string): Beginning => {
  if (part === 1) return begin(partSavepoint(1));
  const statements = [
    `release savepoint ${partSavepoint(part - 1)}`,
    ...(part === 2 ? [mark(tables, name)] : []),
    `savepoint ${partSavepoint(part)}`,
  ];
  return { text: named('begin_part', statements.join('; ')), statements: statements.length };
};

/** Fails when the transaction has been ended since the savepoint. */
export const checkPart = (part: number): string =>
  named('check_part', `release savepoint ${partSavepoint(part)}; savepoint ${partSavepoint(part)}`);

/** Undoes what was done since the savepoint; fails when the transaction has been ended. */
export const undoPart = (part: number): string =>
  named('undo_part', `rollback to savepoint ${partSavepoint(part)}`);

/**
 * Completes the tasks of a group, and commits. Parameters: JSON of completions, how many they are.
 *
 * @param parts tasks that the group has begun
 */
export const completeGroup = (
  tables: Pick<QueueTables, 'queue' | 'history'>,
  parts: number,
  name: string,
): string =>
  [
    `release savepoint ${partSavepoint(parts)}`,
    ...(parts > 1 ? [unmark(tables, name)] : []),
    completeMany(tables),
    demand('?'),
    commit,
  ].join(';\n');

const completeMany = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'complete_many',
    `
update json_table(?, '$[*]' columns (
  id bigint path '$.id', reservation int path '$.reservation', worker bigint path '$.worker',
  message longtext character set utf8mb4 path '$.message', result longtext character set utf8mb4 path '$.result'
)) x
${byKey(queue)}
set f.status = 'sucesso', f.mensagem = x.message, f.resultado = x.result, f.finalizada_em = ${now}
where f.reserva = x.reservation and f.status = 'processando' and f.executor = x.worker`,
  );
