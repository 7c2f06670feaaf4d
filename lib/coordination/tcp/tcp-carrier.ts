import { connect } from 'node:net';
import type { BellCarrier, BellConnection, BellConnectionUse } from '../kept-connection.js';
import { listenCall, ringCall, rungText } from './calls.js';
import { Peer } from './peer.js';

/** Where the server of the client-server mode is. */
export interface TcpServerAddress {
  readonly host: string;
  /** Its lock port. */
  readonly port: number;
  /** How long connecting, a message and an answer may take. */
  readonly messageTimeoutMs: number;
}

/** A call that waits for its answer. */
interface OpenCall {
  readonly answered: (answer: boolean) => void;
  readonly failed: (error: Error) => void;
}

/** The server of the client-server mode, which sends the rings of a queue to those that ask for them. */
export function tcpCarrier(server: TcpServerAddress, queue: () => string): BellCarrier {
  return {
    name: `the server at ${server.host}:${server.port}`,
    timeoutMs: server.messageTimeoutMs,
    connect: (use) => connectTo(server, queue, use),
  };
}

function connectTo(
  { host, port, messageTimeoutMs }: TcpServerAddress,
  queue: () => string,
  { received, gone, signal }: BellConnectionUse,
): Promise<BellConnection> {
  return new Promise((connected, failed) => {
    const calls: OpenCall[] = [];
    const socket = connect({ host, port, signal });
    const peer = new Peer(
      socket,
      messageTimeoutMs,
      (message) => {
        const answer = message.toUpperCase();
        const text = rungText(message);
        if (answer === 'TRUE' || answer === 'FALSE') calls.shift()?.answered(answer === 'TRUE');
        else if (text !== undefined) received(text);
      },
      (why) => {
        const error = new Error(why);
        for (const call of calls.splice(0)) call.failed(error);
        failed(error);
        gone(error);
      },
    );
    const call = (message: string): Promise<boolean> =>
      new Promise((answered, lost) => {
        calls.push({ answered, failed: lost });
        peer.send(message);
      });
    const connection: BellConnection = {
      publish: async (text) => void (await call(ringCall(text))),
      listen: async () => {
        if (await call(listenCall(queue()))) return;
        throw new Error('it sends no rings: it is the server of nsj-queue-lib, or this is not its lock port');
      },
    };
    socket.once('connect', () => connected(connection));
  });
}
