import { deferred } from '../support/waiting.js';
import { runCli, type CliResult } from './support.js';

/** `tarefa server`, which runs in this process. */
export interface Served {
  readonly notifyPort: number;
  readonly lockPort: number;
  readonly stop: () => Promise<CliResult>;
}

/** Returns once it listens. */
export async function serveByCli(
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<Served> {
  const controller = new AbortController();
  const listening = deferred<readonly number[]>();
  const onOutput = (text: string): void => {
    const [, notify, lock] = /listens on \S+: port (\d+) for workers, port (\d+) for locks/.exec(text) ?? [];
    if (lock !== undefined) listening.resolve([Number(notify), Number(lock)]);
  };
  const ended = runCli(['server', ...args], { env, signal: controller.signal, onOutput });
  const failed = ended.then((result) => Promise.reject(new Error(`ended: ${JSON.stringify(result)}`)));
  const [notifyPort = 0, lockPort = 0] = await Promise.race([listening.promise, failed]);
  const stop = (): Promise<CliResult> => {
    controller.abort();
    return ended;
  };
  return { notifyPort, lockPort, stop };
}
