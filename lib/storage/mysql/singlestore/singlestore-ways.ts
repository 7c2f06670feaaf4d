import type { CopyPublications } from '../attempt-ends.js';
import type { TextRow } from '../connections/answers.js';
import type { DialectName } from '../dialect.js';
import type { MysqlAccess } from '../mysql-access.js';
import type { OtherWays } from '../other-ways.js';
import { now } from '../sql-time.js';
import { named } from '../statement.js';
import { insertCopies } from '../statements/fan-out.js';
import { byKey, idRows } from '../statements/held.js';
import { GroupOfOne } from './group-of-one.js';
import { runByLease } from './lock-rows.js';
import { markGuard } from './mark-guard.js';
import { OptimisticClaim } from './optimistic-claim.js';
import { NoSchedules } from './no-schedules.js';
import { SingleStoreInserts } from './singlestore-inserts.js';

const singleStoreWays: OtherWays = {
  Claim: OptimisticClaim,
  scheduleFuture,
  Inserts: SingleStoreInserts,
  Schedules: NoSchedules,
  copyPublications: copyAndCount,
  guard: markGuard,
  Group: GroupOfOne,
  runAlone: runByLease,
};

export function waysOf(dialect: DialectName = 'mysql'): OtherWays {
  return dialect === 'singlestore' ? singleStoreWays : {};
}

/** Scheduled by one statement. */
const futurePage = 1_000;

/**
 * Schedules what was inserted as pending and is not due yet: only what is pending has a route in the index. A claim takes only what
 * is due, so nothing is lost until then. Looked for without a lock: a statement that changes rows locks all that it walks over.
 */
async function scheduleFuture(access: MysqlAccess): Promise<void> {
  const { queue } = access.tables;
  const isFuture = `f.status = 'pendente' and f.data_hora > ${now}`;
  const found = await access.ask(
    named('see_future', `select f.id from ${queue} f where ${isFuture} limit ${futurePage}`),
  );
  if (found.length === 0) return;
  await access.transaction((run) =>
    run(
      named(
        'schedule_future',
        `update ${idRows}\n${byKey(queue)}\nset f.status = 'agendada'\nwhere ${isFuture}`,
      ),
      [JSON.stringify(found.map(({ id }) => id))],
    ),
  );
}

/** How many copies each publication has, from all times that it was delivered. Parameters: ids. */
const countAllCopies = (queue: string): string =>
  named(
    'count_all_copies',
    `
select x.id, count(c.id) as deliveries
from ${idRows}
${byKey(queue)}
left join ${queue} c on c.publication_id = coalesce(f.id_inicial, f.id) and c.id_anterior is null and not c.dead
group by x.id`,
  );

/** Counts the copies before as well as after. */
async function copyAndCount(...[run, tables, ids, seals]: Parameters<CopyPublications>): Promise<TextRow[]> {
  const counting = countAllCopies(tables.queue);
  const text = [counting, insertCopies(tables, seals), counting].join(';\n');
  const [before, , after] = await run(text, [ids, ids, ids]);
  const had = new Map(before?.rows.map((row) => [row['id'], Number(row['deliveries'])]));
  return (after?.rows ?? []).map(({ id = null, deliveries }) => ({
    id,
    deliveries: String(Number(deliveries) - (had.get(id) ?? 0)),
  }));
}
