import type { ServerResponse } from 'node:http';
import { Catch, ForbiddenException, Inject, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Observable } from 'rxjs';
import type { RefusalJson } from './api.js';
import type { OverviewEvent } from './live-overview.js';
import { refusalOf } from './refusal.js';
import type { Answer, DashboardRequest } from './request.js';

type Values = RefusalJson['values'];

// Everything is answered here and not by what handlers return or throw: interceptors and exception filters of the
// application would wrap it in an envelope of theirs, keep it or log it, and the page would not understand it.

/**
 * Answers with JSON: what the work gives, or why it is refused, with a code, a message and what it is about. What the database
 * says is told by its code only: its words may hold values of the user's.
 *
 * @param values known of the request, or found when it is refused
 */
export async function answerJson(
  host: HttpAdapterHost,
  answer: Answer,
  work: () => Promise<object> | object,
  values: Values | ((error: unknown) => Promise<Values>) = {},
): Promise<void> {
  let told: Told;
  try {
    told = { status: 200, body: await work() };
  } catch (error) {
    told = refusalOf(error, typeof values === 'function' ? await values(error) : values);
  }
  await send(host, answer, told);
}

interface Told {
  readonly status: number;
  readonly body: object;
}

/** As text, so that no serializer of the application makes something else of it. */
async function send({ httpAdapter }: HttpAdapterHost, answer: Answer, { status, body }: Told): Promise<void> {
  answer.header('Content-Type', 'application/json; charset=utf-8');
  await httpAdapter.reply(answer, JSON.stringify(body), status);
}

/** Answers with a live stream (`text/event-stream`), until the events complete or the reader has gone. */
export function answerEvents(
  { method }: DashboardRequest,
  answer: Answer,
  events: Observable<OverviewEvent>,
): void {
  answer.hijack?.();
  const raw = answer.raw ?? (answer as Answer & ServerResponse);
  // An idle connection would keep a server that closes waiting for a minute (Fastify's `keepAliveTimeout`).
  raw.shouldKeepAlive = false;
  raw.writeHead(200, {
    // Their names are in small letters: ours are to take their places.
    ...answer.getHeaders(),
    'content-type': 'text/event-stream',
    // Neither compressed nor kept back by what is in between.
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  if (method === 'HEAD') return void raw.end();
  raw.flushHeaders();
  const watching = events.subscribe({
    next: ({ type, data }) => {
      // Who does not read gets a later one.
      if (!raw.writableNeedDrain) raw.write(`event: ${type}\ndata: ${data}\n\n`);
    },
    complete: () => raw.end(),
  });
  raw.once('close', () => watching.unsubscribe());
}

/** A guard of the dashboard's own refuses. */
export class DashboardForbidden extends ForbiddenException {
  constructor(message: string) {
    super({ code: 'ACTION_FORBIDDEN', message });
  }
}

/** Answers for the dashboard's own guards; what guards of the application throw is for its filters. */
@Catch(DashboardForbidden)
export class DashboardForbiddenFilter implements ExceptionFilter<DashboardForbidden> {
  constructor(@Inject(HttpAdapterHost) readonly host: HttpAdapterHost) {}

  async catch(error: DashboardForbidden, context: ArgumentsHost): Promise<void> {
    await send(this.host, context.switchToHttp().getResponse<Answer>(), refusalOf(error));
  }
}
