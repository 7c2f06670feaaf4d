import { nats, redis, tcp, type QueueBell } from '../../lib/index.js';

/** What leads to the bell at that address. */
export function bellAt(address: string | undefined): QueueBell | undefined {
  if (address === undefined) return undefined;
  if (address.startsWith('redis:')) return redis({ url: address });
  if (address.startsWith('nats:')) return nats({ servers: address });
  const { hostname, port } = new URL(address);
  return tcp({ host: hostname, port: Number(port) });
}
