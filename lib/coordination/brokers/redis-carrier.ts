import { TarefaError } from '../../errors.js';
import type { BellCarrier, BellConnection, BellConnectionUse } from '../kept-connection.js';

/** How long it may take to let in, and to answer. */
const answerMs = 5_000;

export interface RedisPlace {
  readonly channel: string;
  /** Options of the package `redis`. */
  readonly client: Readonly<Record<string, unknown>>;
}

/**
 * Redis, by its channels.
 *
 * @throws {TarefaError} `OPTIONS_INVALID` where its package cannot be loaded
 */
export async function redisCarrier({ channel, client }: RedisPlace): Promise<BellCarrier> {
  const { createClient } = await load();
  const { socket } = client as { readonly socket?: object };
  const options = {
    ...client,
    // It is connected again from here.
    socket: { connectTimeout: answerMs, ...socket, reconnectStrategy: false as const },
    disableOfflineQueue: true,
  };
  checkOptions(() => createClient(options));
  const open = async ({ gone, signal }: BellConnectionUse) => {
    const opened = createClient(options);
    opened.on('error', gone);
    signal.addEventListener('abort', () => opened.isOpen && opened.destroy());
    await opened.connect();
    if (signal.aborted && opened.isOpen) opened.destroy();
    return opened;
  };
  return {
    name: 'Redis',
    timeoutMs: answerMs,
    connect: async (use): Promise<BellConnection> => {
      const publisher = await open(use);
      return {
        publish: async (text) => void (await publisher.publish(channel, text)),
        // A connection that is subscribed may do nothing else.
        listen: async () => {
          const subscriber = await open(use);
          await subscriber.subscribe(channel, use.received);
        },
      };
    },
  };
}

/** It looks at its options when a client is made, long before that connects. */
function checkOptions(make: () => unknown): void {
  try {
    make();
  } catch (error) {
    // Without its cause, which has the address, and that may have a password.
    const { message } = error as Error;
    throw new TarefaError('OPTIONS_INVALID', `bell: the options of redis() cannot be used: ${message}`);
  }
}

async function load(): Promise<typeof import('redis')> {
  try {
    // Inside of a try bundlers, too, know that it may be missing.
    return await import('redis');
  } catch (cause) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      'bell: redis() needs the package "redis", which cannot be loaded. Run `npm install redis@5`.',
      { cause },
    );
  }
}
