import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';

/** An address on loopback that leads new connections to another server, and leaves those that are open. */
export interface AddressSwitch {
  readonly port: number;
  /** Port of the server that it leads to. */
  target: number;
  close(): void;
}

/** Starts one that leads to the server at that port. */
export async function startSwitch(target: number): Promise<AddressSwitch> {
  const listener = createServer((socket) => {
    const server = connect(made.target, '127.0.0.1');
    socket.pipe(server).pipe(socket);
    socket.on('error', () => server.destroy());
    server.on('error', () => socket.destroy());
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const made: AddressSwitch = { port, target, close: () => void listener.close() };
  return made;
}
