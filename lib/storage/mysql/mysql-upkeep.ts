import { readDate, readText } from '../columns.js';
import type { PurgeableCount, PurgeableWindow, PurgedAtOnce, PurgeLook, Upkeep } from '../upkeep.js';
import { rowsOf } from './administration/answered.js';
import { jsonIds } from './administration/id-list.js';
import { purgeWhole } from './administration/purge-whole.js';
import type { MysqlAccess } from './mysql-access.js';
import { findPurgeable } from './reports/purgeable-window.js';
import { familiesAmong } from './statements/purge.js';
import { describeRows } from './statements/status.js';

/** {@link Upkeep} of a table in one piece: it makes room automatically, and is purged row by row. */
export class MysqlUpkeep implements Upkeep {
  readonly #access: MysqlAccess;

  constructor(access: MysqlAccess) {
    this.#access = access;
  }

  async prepareAhead(): Promise<void> {
    // There is nothing to make.
  }

  purgeAtOnce(): Promise<PurgedAtOnce> {
    return Promise.resolve({ rows: 0, before: undefined, problem: undefined });
  }

  findPurgeable(look: PurgeLook): Promise<PurgeableWindow> {
    return this.#access.own.use((run) => findPurgeable(run, this.#access.tables, look));
  }

  async describe(ids: readonly string[]): Promise<readonly PurgeableCount[]> {
    const rows = await this.#access.own.use((run) =>
      rowsOf(run, describeRows(this.#access.tables), [jsonIds(ids)]),
    );
    return rows.map((row) => ({
      topic: readText(row['processo']),
      subscriptionId: readText(row['subscriber_id']),
      rows: Number(row['n']),
      oldest: readDate(row['oldest']),
    }));
  }

  async families(ids: readonly string[]): Promise<readonly (readonly string[])[]> {
    const rows = await this.#access.own.use((run) =>
      rowsOf(run, familiesAmong(this.#access.tables), [jsonIds(ids)]),
    );
    const families = new Map<string, string[]>();
    for (const { id, family } of rows) {
      const known = families.get(String(family));
      if (known) known.push(String(id));
      else families.set(String(family), [String(id)]);
    }
    return [...families.values()];
  }

  purge(ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return Promise.resolve(0);
    return this.#access.own.transaction((run) => purgeWhole(run, this.#access.tables, ids));
  }
}
