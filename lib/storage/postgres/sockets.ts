import { Socket } from 'node:net';

/** How long a server may take to answer a goodbye. */
const goodbyeMs = 5_000;

/**
 * The sockets behind some connections. A server that fell silent never answers their goodbye, and each would keep
 * the process alive until the operating system gives up, many minutes later: so they are cut.
 */
export class Sockets {
  readonly #open = new Set<Socket>();

  /** Makes one: what `pg` takes as `stream`. */
  readonly open = (): Socket => {
    const socket = new Socket();
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    return socket;
  };

  /** Waits until the goodbye is answered, but not for long; then cuts what is left. */
  async closeAfter(goodbye: Promise<unknown>): Promise<void> {
    const cut = (): void => this.#open.forEach((socket) => socket.destroy());
    const timer = setTimeout(cut, goodbyeMs);
    try {
      await goodbye;
    } finally {
      clearTimeout(timer);
      cut();
    }
  }
}
