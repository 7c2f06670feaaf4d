import { createServer, type Socket } from 'node:net';
import type { TestProject } from 'vitest/node';
import { leftOut } from './mysql-left-out.js';
import { startMysql, type MysqlFlavour, type MysqlServer } from './mysql-server.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Port on loopback at which the run is asked for its MariaDB and its MySQL, a flavour a line. */
    mysqlDesk: number;
  }
}

/** What a test file is answered, as a line of JSON. */
export type MysqlAnswer = { readonly url: string } | { readonly fault: string };

/**
 * One MariaDB and one MySQL for the whole run, each started when the first test file asks for it: a run without such tests pays
 * for a port. `MARIADB_URL` and `MYSQL_URL` name servers to take instead, with the right to create databases.
 */
export default async function setUp(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  // Vitest asks for the projects and for what they share.
  if (project.isRootProject()) return undefined;
  if (project.name === 'servers' && (await leftOut()).length > 0) {
    process.stdout.write(
      'Left out: the tests of MySQL, because `node scripts/install-mysql.mjs mysql` has not unpacked it.\n',
    );
  }
  const started = new Map<MysqlFlavour, Promise<MysqlServer>>();
  const callers = new Set<Socket>();
  const desk = createServer((caller) => {
    callers.add(caller);
    caller.once('close', () => callers.delete(caller));
    caller.on('error', () => undefined);
    caller.once('data', (asked) => {
      void serve(String(asked).trim() as MysqlFlavour, started).then((answer) =>
        caller.end(`${JSON.stringify(answer)}\n`),
      );
    });
  });
  desk.unref();
  await new Promise<void>((listening) => desk.listen(0, '127.0.0.1', listening));
  const address = desk.address();
  project.provide('mysqlDesk', typeof address === 'object' && address !== null ? address.port : 0);
  return async () => {
    desk.close();
    for (const caller of callers) caller.destroy();
    await Promise.allSettled([...started.values()].map(async (server) => (await server).stop()));
  };
}

async function serve(
  flavour: MysqlFlavour,
  started: Map<MysqlFlavour, Promise<MysqlServer>>,
): Promise<MysqlAnswer> {
  const url = process.env[`${flavour.toUpperCase()}_URL`];
  if (url !== undefined && url !== '') return { url };
  const server = started.get(flavour) ?? startMysql(flavour);
  started.set(flavour, server);
  return server.then(
    (one) => ({ url: one.url }),
    (error: unknown) => ({ fault: String(error) }),
  );
}
