import { Client } from 'pg';
import type { TestDatabase } from './database.js';

/** Hears what is said on a notification channel. */
export interface ChannelListener {
  /** Everything heard so far, in order. */
  readonly heard: readonly string[];
  /** Resolves when everything that was committed before has been heard. */
  caughtUp(): Promise<void>;
  close(): Promise<void>;
}

export async function listenTo(
  { url }: Pick<TestDatabase, 'url'>,
  channel: string,
): Promise<ChannelListener> {
  const client = new Client({ connectionString: url });
  const heard: string[] = [];
  let marks = 0;
  let onMark: () => void = () => undefined;
  client.on('notification', (message) => {
    if (message.channel === 'mark') onMark();
    else heard.push(message.payload ?? '');
  });
  await client.connect();
  await client.query(`listen "${channel}"; listen mark`);
  return {
    heard,
    caughtUp: async () => {
      const marked = new Promise<void>((resolve) => (onMark = resolve));
      marks += 1;
      await client.query(`notify mark, '${marks}'`);
      await marked;
    },
    close: () => client.end(),
  };
}
