import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import type { TestDatabase } from './database.js';
import { deferred } from './waiting.js';

/** A network between a worker and its database that can be measured and broken. */
export interface DatabaseProxy {
  /** Address of the database through this proxy. */
  readonly url: string;
  /** Bytes that the database has sent through it so far. */
  readonly received: number;
  /**
   * Keeps back what the database answers on connections whose name ends like that: it has done its work, and
   * the worker does not know yet.
   */
  holdAnswers(purpose: string): HeldAnswers;
  /** From now on nothing gets through, and nobody is told: as when a firewall forgets a connection. */
  silence(): void;
  close(): Promise<void>;
}

export interface HeldAnswers {
  /** Resolves when there is an answer to keep back. */
  readonly answered: Promise<void>;
  /** Lets them through. */
  release(): void;
}

export async function startProxy({ url }: Pick<TestDatabase, 'url'>): Promise<DatabaseProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let received = 0;
  let silent = false;
  let hold:
    { readonly purpose: string; readonly kept: (() => void)[]; readonly answered: () => void } | undefined;
  const server = createServer((client) => {
    let startup = '';
    const database = connect(Number(target.port), target.hostname);
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        if (!silent) (socket === client ? database : client).destroy();
      });
    }
    client.on('data', (chunk) => {
      startup ||= chunk.toString('latin1');
      if (!silent) database.write(chunk);
    });
    database.on('data', (chunk) => {
      received += chunk.length;
      if (silent) return;
      // The first message of a connection names it: `application_name`, NUL, its value, NUL.
      if (hold && startup.includes(`${hold.purpose}\0`)) {
        hold.kept.push(() => client.write(chunk));
        hold.answered();
      } else {
        client.write(chunk);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = new URL(url);
  address.hostname = '127.0.0.1';
  address.port = String((server.address() as AddressInfo).port);
  return {
    url: address.href,
    get received() {
      return received;
    },
    holdAnswers: (purpose) => {
      const answer = deferred();
      const kept: (() => void)[] = [];
      hold = { purpose, kept, answered: () => answer.resolve() };
      return {
        answered: answer.promise,
        release: () => {
          hold = undefined;
          for (const send of kept) send();
        },
      };
    },
    silence: () => (silent = true),
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
