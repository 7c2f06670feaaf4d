import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import type { TestDatabase } from './database.js';

/** A network between a worker and its database that can be measured and broken. */
export interface DatabaseProxy {
  /** Address of the database through this proxy. */
  readonly url: string;
  /** Bytes that the database has sent through it so far. */
  readonly received: number;
  /** From now on nothing gets through, and nobody is told: as when a firewall forgets a connection. */
  silence(): void;
  close(): Promise<void>;
}

export async function startProxy({ url }: Pick<TestDatabase, 'url'>): Promise<DatabaseProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let received = 0;
  let silent = false;
  const server = createServer((client) => {
    const database = connect(Number(target.port), target.hostname);
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        if (!silent) (socket === client ? database : client).destroy();
      });
    }
    client.on('data', (chunk) => silent || database.write(chunk));
    database.on('data', (chunk) => {
      received += chunk.length;
      if (!silent) client.write(chunk);
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
    silence: () => (silent = true),
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
