import type { InjectionToken } from '@nestjs/common';
import { defaultQueueName, getPartToken } from '../options/part-token.js';
import type { QueueOptions } from '../options/queue-options.js';

/** What {@link withTester} needs of a `TestingModuleBuilder` of `@nestjs/testing`. */
export interface BuilderWithValues {
  overrideProvider(token: InjectionToken): { useValue(value: unknown): unknown };
}

/**
 * Makes a testing module's queue wait for a `QueueTester`: no worker starts, so that a whole application can be tested as it
 * is, on a real database.
 *
 * @param options given in place of those of the application: usually the `connection` of the tests' database, or a `queue` (its
 * table) of the test file's own. With a `connection` the application's `sessionConnection` and `wake` do not count.
 * @param name of the queue, when there are several
 *
 * @example
 * const builder = Test.createTestingModule({ imports: [AppModule] });
 * const app = await withTester(builder, { connection: url }).compile();
 * await app.init();
 * const tester = QueueTester.of(app);
 */
export function withTester<Builder extends BuilderWithValues>(
  builder: Builder,
  options: QueueOptions = {},
  name: string = defaultQueueName,
): Builder {
  const ofConnection =
    options.connection === undefined ? {} : { sessionConnection: undefined, wake: undefined };
  builder
    .overrideProvider(getPartToken(name, 'overrides'))
    .useValue({ ...ofConnection, ...options, autoStart: false, worker: true });
  return builder;
}
