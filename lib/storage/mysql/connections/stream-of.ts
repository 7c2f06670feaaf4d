import type { Socket } from 'node:net';

/** The driver's own `destroy` leaves those waiting for ever who wait for an answer. */
export function streamOf(connection: object): Socket {
  return (connection as { readonly stream: Socket }).stream;
}
