import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { resolveOptions } from '../assembly/resolve-options.js';
import { readEnvironment } from '../options/environment.js';
import type { QueueOptions } from '../options/queue-options.js';
import type { ServerOptions } from '../options/server-options.js';
import { QueueModule } from '../queue.module.js';
import { withoutUnset } from '../values/without-unset.js';
import { UsageError, type CommandCall, type ExitCode, type OptionValues } from './command.js';
import { readConnectRetry } from './common-options.js';
import { flagOption, numberOption, textOption } from './option-values.js';
import { outputLogger } from './output/output-logger.js';
import { untilAborted } from './until-aborted.js';

/** An application that is nothing but its server. */
@Module({})
class ServerOnlyModule {}

/** What `tarefa server` does: serves until it is stopped. */
export async function runServer(call: CommandCall): Promise<ExitCode> {
  const { options: given, positionals, output, env, signal } = call;
  if (positionals[0] !== undefined)
    throw new UsageError(`unexpected argument ${JSON.stringify(positionals[0])}`);
  const options = {
    // The module looks at the variables of the process, which need not be those of the call.
    ...readEnvironment(env).options,
    ...call.queueOptions(),
    schema: 'create',
    connectRetryMs: readConnectRetry(given),
    server: readServerOptions(given),
  } satisfies QueueOptions;
  const server = {
    ...resolveOptions(options, env).server,
    allowUnauthenticated: options.server.allowUnauthenticated,
  };
  const app = await NestFactory.createApplicationContext(
    { module: ServerOnlyModule, imports: [QueueModule.forRoot({ ...options, server })] },
    { logger: outputLogger(output), abortOnError: false },
  );
  await untilAborted(signal);
  await app.close();
  return 0;
}

function readServerOptions(given: OptionValues): ServerOptions {
  const whole = (name: string, least: number, most: number): number | undefined =>
    numberOption(given, name, { least, most });
  const ms = (name: string): number | undefined => {
    const seconds = numberOption(given, name, { least: 0.01, most: 3_600, whole: false });
    return seconds === undefined ? undefined : Math.round(seconds * 1_000);
  };
  return withoutUnset({
    host: textOption(given, 'host'),
    allowUnauthenticated: flagOption(given, 'allow-unauthenticated') || undefined,
    notifyPort: whole('notify-port', 0, 65_535),
    lockPort: whole('lock-port', 0, 65_535),
    maxClients: whole('max-clients', 1, 10_000),
    checkIntervalMs: ms('check-interval'),
    idleTimeoutMs: ms('idle-timeout'),
    messageTimeoutMs: ms('message-timeout'),
  });
}
