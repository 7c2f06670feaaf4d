/**
 * Anything that runs one SQL statement with `$1` placeholders: a `pg` client inside a transaction, a pool, or
 * what an adapter below makes of another library's transaction. The library never begins, commits or rolls
 * back through it.
 */
export interface SqlHandle {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/** The part of a TypeORM `EntityManager` or `QueryRunner` that {@link fromTypeOrm} uses. */
export interface TypeOrmLike {
  query(text: string, values?: unknown[]): Promise<unknown>;
}

/**
 * Lets a task join a TypeORM transaction.
 *
 * @example await dataSource.transaction((manager) => queue.insertTask(task, { tx: fromTypeOrm(manager) }));
 */
export function fromTypeOrm(manager: TypeOrmLike): SqlHandle {
  return {
    query: async (text, values) => {
      const answer = await manager.query(text, values);
      // For UPDATE and DELETE TypeORM answers `[rows, count]`, else the rows.
      return { rows: rowsOf(Array.isArray(answer) && Array.isArray(answer[0]) ? answer[0] : answer) };
    },
  };
}

/** The part of a Prisma transaction client that {@link fromPrisma} uses. */
export interface PrismaLike {
  $queryRawUnsafe(text: string, ...values: unknown[]): Promise<unknown>;
}

/**
 * Lets a task join an interactive Prisma transaction.
 *
 * @example await prisma.$transaction((tx) => queue.insertTask(task, { tx: fromPrisma(tx) }));
 */
export function fromPrisma(tx: PrismaLike): SqlHandle {
  return {
    query: async (text, values) => ({ rows: rowsOf(await tx.$queryRawUnsafe(text, ...(values ?? []))) }),
  };
}

/** The part of a Knex transaction that {@link fromKnex} uses. */
export interface KnexLike {
  raw(text: string, bindings: readonly never[]): PromiseLike<unknown>;
}

/**
 * Lets a task join a Knex transaction.
 *
 * @example await knex.transaction((trx) => queue.insertTask(task, { tx: fromKnex(trx) }));
 */
export function fromKnex(trx: KnexLike): SqlHandle {
  return {
    query: async (text, values = []) => {
      const bindings: unknown[] = [];
      // Knex counts `?` instead of naming them, so a parameter used twice is handed over twice.
      const positional = text.replaceAll('?', '\\?').replace(/\$(\d+)/g, (_, index: string) => {
        bindings.push(values[Number(index) - 1] ?? null);
        return '?';
      });
      return { rows: rowsOf(await trx.raw(positional, bindings as never[])) };
    },
  };
}

function rowsOf(answer: unknown): Record<string, unknown>[] {
  const rows = Array.isArray(answer) ? answer : (answer as { rows?: unknown } | undefined)?.rows;
  return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
}
