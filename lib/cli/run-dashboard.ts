import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { Module } from '@nestjs/common';
import { NestFactory, type AbstractHttpAdapter } from '@nestjs/core';
import { KeyGuard } from '../dashboard/key.guard.js';
import { LoopbackGuard } from '../dashboard/loopback.guard.js';
import { readEnvironment } from '../options/environment.js';
import { QueueModule } from '../queue.module.js';
import { resolveOptions } from '../assembly/resolve-options.js';
import { TarefaError } from '../errors.js';
import { UsageError, type CommandCall, type ExitCode } from './command.js';
import { flagOption, listOption, numberOption } from './option-values.js';
import { outputLogger } from './output/output-logger.js';
import { untilAborted } from './until-aborted.js';

/** An application that is nothing but the dashboard. */
@Module({})
class DashboardOnlyModule {}

const path = '/queues';
const host = '127.0.0.1';

/** What `tarefa dashboard` does: serves the page until it is told to stop. */
export async function runDashboard({
  options: given,
  positionals,
  output,
  env,
  signal,
  queueOptions,
}: CommandCall): Promise<ExitCode> {
  if (positionals[0] !== undefined)
    throw new UsageError(`unexpected argument ${JSON.stringify(positionals[0])}`);
  const port = numberOption(given, 'port', { least: 0, most: 65_535 }) ?? 0;
  // The module looks at the variables of the process, which need not be those of the call.
  const options = { ...readEnvironment(env).options, ...queueOptions() };
  resolveOptions(options, env);
  const key = (await promisify(randomBytes)(24)).toString('base64url');
  const dashboard = {
    path,
    guards: [new LoopbackGuard(), new KeyGuard(key)],
    actions: flagOption(given, 'actions'),
    payloads: !flagOption(given, 'no-payloads'),
    redact: listOption(given, 'redact') ?? [],
  };
  const app = await NestFactory.create(
    { module: DashboardOnlyModule, imports: [QueueModule.forRoot({ ...options, dashboard })] },
    await makeAdapter(),
    { logger: outputLogger(output), abortOnError: false, forceCloseConnections: true },
  );
  try {
    await app.listen(port, host);
    const url = `${await app.getUrl()}${path}?key=${key}`;
    output.jsonLine({ url });
    output.text(`The dashboard, for this computer only; Ctrl-C stops it:\n\n  ${url}\n`);
    await untilAborted(signal);
  } finally {
    await app.close();
  }
  return 0;
}

/** Whichever of Nest's two there is. */
async function makeAdapter(): Promise<AbstractHttpAdapter> {
  try {
    const { ExpressAdapter } = await import('@nestjs/platform-express');
    return new ExpressAdapter();
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  try {
    const { FastifyAdapter } = await import('@nestjs/platform-fastify');
    return new FastifyAdapter();
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new TarefaError(
      'OPTIONS_INVALID',
      'the dashboard requires @nestjs/platform-express or @nestjs/platform-fastify, and neither is installed: run `npm install @nestjs/platform-express`',
      { cause: error },
    );
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
}
