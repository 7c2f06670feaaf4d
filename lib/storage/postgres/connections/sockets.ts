import { Socket } from 'node:net';
import { lookupKnown } from './known-addresses.js';

/** How long a server may take to answer a goodbye, which it has heard in any case. */
export const goodbyeMs = 500;

/**
 * The sockets behind some connections. A server that fell silent never answers their goodbye, and each would keep
 * the process alive until the operating system gives up, many minutes later: so they are cut.
 */
export class Sockets {
  readonly #open = new Set<Socket>();

  /** Makes one: what `pg` takes as `stream`. */
  readonly open = (): Socket => {
    const socket = new NamedSocket();
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    return socket;
  };

  /** Waits for the answers to goodbyes, but no longer than that; then cuts what is left. */
  async closeAfter(goodbyes: Promise<unknown>, mostMs: number): Promise<void> {
    const cut = (): void => this.#open.forEach((socket) => socket.destroy());
    const timer = setTimeout(cut, mostMs);
    try {
      await goodbyes;
    } finally {
      clearTimeout(timer);
      cut();
    }
  }
}

/** Finds the address of a name without waiting for a busy process. Addresses and paths need no look-up. */
class NamedSocket extends Socket {
  /** As `pg` calls it: a port and a name, or the path of a unix socket. */
  override connect(...args: unknown[]): this {
    const [port, host] = args;
    const isNamed = typeof port === 'number' && typeof host === 'string';
    const options = isNamed ? [{ port, host, lookup: lookupKnown }] : args;
    return super.connect(...(options as Parameters<Socket['connect']>));
  }
}
