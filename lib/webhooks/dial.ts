import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';

/** A name may have thousands of addresses; these are tried. */
const mostAttempts = 8;
/** How long an address is waited for before the next one is tried beside it. */
const headStartMs = 250;

/**
 * Connects to whichever address answers first. They are tried in turn, the next one when one fails or is slow; none
 * is resolved again. The caller owns the socket.
 *
 * @throws {Error} the last address's; what the signal was aborted with
 */
export function dialAny(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
  open: (options: TcpNetConnectOpts) => Socket = connect,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const waiting = addresses.slice(0, mostAttempts);
    const dialled = new Set<Socket>();
    let timer: NodeJS.Timeout | undefined;

    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      for (const socket of dialled) socket.destroy();
      settle();
    };
    const giveUp = (): void => finish(() => reject(signal.reason as Error));
    const dialNext = (): void => {
      clearTimeout(timer);
      const address = waiting.shift();
      if (address === undefined) return;
      const socket = open({ host: address, port, noDelay: true });
      dialled.add(socket);
      socket.once('connect', () => {
        dialled.delete(socket);
        finish(() => resolve(socket));
      });
      // Stays: a socket that fails after it was given up must not bring the process down.
      socket.on('error', (error) => {
        if (!dialled.delete(socket)) return;
        if (waiting.length === 0 && dialled.size === 0) finish(() => reject(error));
        else dialNext();
      });
      timer = setTimeout(dialNext, headStartMs);
    };

    if (signal.aborted) return giveUp();
    signal.addEventListener('abort', giveUp);
    dialNext();
  });
}
