import 'reflect-metadata';
import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { readEnvironment, readWebhookTimeoutMs } from '../options/environment.js';
import type { Environment } from '../options/variables.js';
import { QueueEvents } from '../events.js';
import { QueueModule } from '../queue.module.js';
import type { QueueOptions } from '../options/queue-options.js';
import { resolveOptions } from '../assembly/resolve-options.js';
import type { WebhookOptions } from '../options/webhook-options.js';
import { QueueWorker } from '../worker/queue-worker.js';
import { readConnectRetry } from './common-options.js';
import { UsageError, type CommandCall, type ExitCode, type OptionValues } from './command.js';
import { flagOption, listOption, numberOption, textOption } from './option-values.js';
import { outputLogger } from './output/output-logger.js';
import { untilAborted } from './until-aborted.js';
import { readSecretKeys } from './webhook-secret.js';

/** An application that is nothing but its queue. */
@Module({})
class WebhookWorkerModule {}

/** What `tarefa worker` does: the queue of an application without handlers, until it is stopped. */
export async function runWorker(call: CommandCall): Promise<ExitCode> {
  const { options: given, positionals, output, env, signal } = call;
  if (positionals[0] !== undefined)
    throw new UsageError(`unexpected argument ${JSON.stringify(positionals[0])}`);
  if (!flagOption(given, 'webhooks')) {
    throw new UsageError(
      'no work given: pass --webhooks to deliver webhooks; tasks with code run in your application, which imports QueueModule',
    );
  }
  const options = readWorkerOptions(call.queueOptions(), given, env);
  resolveOptions(options, env);
  const app = await NestFactory.createApplicationContext(
    { module: WebhookWorkerModule, imports: [QueueModule.forRoot(options)] },
    { logger: outputLogger(output), abortOnError: false },
  );
  await untilToldToStop(app, signal);
  await app.close();
  return 0;
}

function readWorkerOptions(queue: QueueOptions, given: OptionValues, env: Environment): QueueOptions {
  const ms = (name: string): number | undefined => {
    const seconds = numberOption(given, name, { least: 0, most: 3_600, whole: false });
    return seconds === undefined ? undefined : Math.round(seconds * 1_000);
  };
  const whole = (name: string): number | undefined => numberOption(given, name, { least: 1, most: 10_000 });
  const webhooks = {
    concurrency: whole('concurrency'),
    endpointConcurrency: whole('endpoint-concurrency'),
    timeoutMs: ms('timeout') ?? readWebhookTimeoutMs(env, () => undefined),
    redirects: oneOf(given, 'redirects', ['refuse', 'follow']),
    schedule: oneOf(given, 'schedule', ['queue', 'standard']),
    allowedAddresses: listOption(given, 'allow'),
    secretKeys: readSecretKeys(env),
  };
  return {
    // The module looks at the variables of the process, which need not be those of the call.
    ...readEnvironment(env).options,
    ...queue,
    worker: true,
    // A service starts beside its database, and waits for it as an application does.
    connectRetryMs: readConnectRetry(given),
    unknownTasks: 'leave',
    shutdownTimeoutMs: ms('shutdown-timeout'),
    webhooks: withoutUnset(webhooks),
  };
}

function oneOf<T extends string>(given: OptionValues, name: string, values: readonly T[]): T | undefined {
  const text = textOption(given, name);
  const value = values.find((one) => one === text);
  if (text === undefined || value !== undefined) return value;
  throw new UsageError(`--${name} must be ${values.join(' or ')}, not ${JSON.stringify(text)}`);
}

function withoutUnset(options: { readonly [Name in keyof WebhookOptions]: unknown }): WebhookOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as WebhookOptions;
}

/** By a signal, or by a HALT to the queue. */
async function untilToldToStop(app: INestApplicationContext, signal: AbortSignal): Promise<void> {
  const worker = app.get(QueueWorker, { strict: false });
  const events = app.get(QueueEvents, { strict: false });
  const halted = new Promise<void>((resolve) => {
    events.on('worker.stopped', () => resolve());
    if (worker.state !== 'running') resolve();
  });
  await Promise.race([halted, untilAborted(signal)]);
}
