import { TarefaError } from '../../errors.js';
import type { BellCarrier, BellConnection } from '../kept-connection.js';

/** How long it may take to let in, and to answer. */
const answerMs = 5_000;

export interface NatsPlace {
  readonly subject: string;
  /** Options of the package `@nats-io/transport-node`. */
  readonly client: Readonly<Record<string, unknown>>;
}

/**
 * NATS, by a subject of its core: nothing is kept there.
 *
 * @throws {TarefaError} `OPTIONS_INVALID` where its package cannot be loaded
 */
export async function natsCarrier({ subject, client }: NatsPlace): Promise<BellCarrier> {
  const { connect } = await load();
  const options = {
    name: 'tarefa bell',
    timeout: answerMs,
    ...client,
    // It is connected again from here.
    reconnect: false,
    waitOnFirstConnect: false,
    noEcho: true,
  };
  return {
    name: 'NATS',
    timeoutMs: answerMs,
    connect: async ({ received, gone, signal }): Promise<BellConnection> => {
      const connection = await connect(options);
      const close = (): void => void connection.close();
      signal.addEventListener('abort', close);
      if (signal.aborted) close();
      void connection.closed().then((error) => gone(error ?? new Error('it closed the connection')));
      return {
        publish: async (text) => {
          connection.publish(subject, text);
          await connection.flush();
        },
        listen: async () => {
          connection.subscribe(subject, {
            callback: (error, message) => (error ? gone(error) : received(message.string())),
          });
          await connection.flush();
        },
      };
    },
  };
}

async function load(): Promise<typeof import('@nats-io/transport-node')> {
  try {
    // Inside of a try bundlers, too, know that it may be missing.
    return await import('@nats-io/transport-node');
  } catch (cause) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      'bell: nats() needs the package "@nats-io/transport-node", which cannot be loaded. Run `npm install @nats-io/transport-node`.',
      { cause },
    );
  }
}
