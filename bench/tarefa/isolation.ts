import type { IsolationOptions } from '../../lib/index.js';
import type { HandlerKind } from '../protocol.js';

/** What a thread or process of isolated handlers has to know. */
export interface IsolatedSetting {
  readonly url: string;
  readonly setting: string;
  readonly kind: HandlerKind;
}

const variable = 'BENCH_ISOLATED';

/** Threads and processes that start from now on get the setting by their environment. */
export function isolationFor(setting: IsolatedSetting, children: number | undefined): IsolationOptions {
  process.env[variable] = JSON.stringify(setting);
  return {
    module: new URL('isolated-module.js', import.meta.url),
    threads: children,
    processes: children,
  };
}

/** What this thread or process runs. */
export function isolatedSetting(): IsolatedSetting {
  return JSON.parse(process.env[variable] ?? '') as IsolatedSetting;
}
