import { Module } from '@nestjs/common';
import { makeHandlers } from './handlers.js';
import { isolatedSetting } from './isolation.js';
import { queueModules } from './queue.js';
import { settings } from './settings.js';

const { url, setting, kind } = isolatedSetting();
const { queue = {}, handler: options = {} } = settings[setting] ?? {};
// Its parent counts.
const started = (): void => undefined;
const handlers = makeHandlers({
  ...{ url, kind, options, started },
  topics: ['t0'],
  subscriptions: [],
  writers: 1,
});

/** What threads and processes of isolated handlers run. */
@Module({ imports: queueModules(url, [handlers], queue) })
export class IsolatedModule {}
