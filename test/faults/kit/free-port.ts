import { createServer, type AddressInfo } from 'node:net';

/** A port of 127.0.0.1 that nobody listens on now. */
export function findFreePort(): Promise<number> {
  return new Promise((found, failed) => {
    const server = createServer();
    server.once('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  });
}
