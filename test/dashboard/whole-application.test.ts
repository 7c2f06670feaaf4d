import {
  Catch,
  Injectable,
  SetMetadata,
  UnauthorizedException,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { catchError, map, type Observable } from 'rxjs';
import { afterEach, expect, test } from 'vitest';
import { useQueue } from '../worker/queue-bench.js';
import { act, ask } from './kit/ask.js';
import { startDashboardApp, type DashboardApp, type DashboardAppOptions } from './kit/dashboard-app.js';

const bench = useQueue();
const adapters = ['express', 'fastify'] as const;
let app: DashboardApp | undefined;

afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function start(options: DashboardAppOptions): Promise<DashboardApp> {
  app = await startDashboardApp(bench.database.url, options);
  return app;
}

/** As many applications have them: every answer and every error in an envelope, every argument tidied up. */
class Envelope implements NestInterceptor {
  seen = 0;
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    this.seen += 1;
    return next.handle().pipe(
      map((data: unknown) => ({ statusCode: 200, data })),
      catchError((error: unknown) => {
        throw new Error('enveloped', { cause: error });
      }),
    );
  }
}
@Catch()
class EnvelopeFilter implements ExceptionFilter {
  constructor(readonly host: HttpAdapterHost) {}
  catch(error: { getStatus?(): number }, context: ArgumentsHost): void {
    const status = error.getStatus?.() ?? 500;
    this.host.httpAdapter.reply(context.switchToHttp().getResponse(), { success: false }, status);
  }
}
class Shout implements PipeTransform {
  transform(value: unknown): unknown {
    return typeof value === 'string' ? value.toUpperCase() : 'an argument';
  }
}

function envelop(application: INestApplication): Envelope {
  const envelope = new Envelope();
  application.useGlobalInterceptors(envelope);
  application.useGlobalFilters(new EnvelopeFilter(application.get(HttpAdapterHost)));
  application.useGlobalPipes(new Shout());
  return envelope;
}

test.each(adapters)(
  'interceptors, filters and pipes of the whole application change nothing of a dashboard on %s',
  async (adapter) => {
    let envelope: Envelope | undefined;
    const { url, queue } = await start({ adapter, configure: (one) => (envelope = envelop(one)) });
    const id = await queue.insertTask({ topic: 'paper', payload: { a: 1 } });

    expect((await ask(url)).text).toMatch(/^<!doctype html>/i);
    const script = await ask(`${url}/assets/main.js`);
    expect([script.status, script.text]).toEqual([200, expect.stringContaining('import')]);
    const info = await ask(`${url}/api/info`);
    expect(info.body).toMatchObject({ queue: 'default', payloads: true });
    expect(info.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect((await ask(`${url}/api/tasks?topic=paper`)).body).toMatchObject({ tasks: [{ id }] });
    expect((await ask(`${url}/api/tasks/${id}`)).body).toMatchObject({ current: { id, topic: 'paper' } });
    expect(await act(url, 'cancel', { id })).toMatchObject({ status: 200, body: {} });

    expect(await act(url, 'cancel', { id })).toMatchObject({ status: 409, body: { code: 'TASK_STATE' } });
    expect(await act(url, 'dance', { id })).toMatchObject({ status: 404, body: { message: 'Not Found' } });
    expect(await ask(`${url}/api/tasks/99`)).toMatchObject({
      status: 404,
      body: { code: 'TASK_NOT_FOUND', values: { id: '99' } },
    });
    expect((await ask(`${url}/assets/none.js`)).status).toBe(404);
    const foreign = { headers: { origin: 'https://evil.example' } };
    expect(await ask(`${url}/api/info`, foreign)).toMatchObject({
      status: 403,
      body: { code: 'ACTION_FORBIDDEN' },
    });
    expect(await act(url, 'retry', { id }, { 'x-tarefa-dashboard': undefined })).toMatchObject({
      status: 403,
      body: { code: 'ACTION_FORBIDDEN' },
    });
    expect(envelope?.seen).toBeGreaterThan(5);
  },
);

test.each(adapters)('they change nothing of the live stream on %s either', async (adapter) => {
  const { url } = await start({ adapter, configure: envelop, cors: true });
  const response = await fetch(`${url}/api/stream`);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('cache-control')).toBe('no-store, no-transform');
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  const reader = response.body!.getReader();
  let text = '';
  while (!text.includes('\n\n')) text += Buffer.from((await reader.read()).value ?? []).toString();
  const [, event, data] = /^event: (\w+)\ndata: (.*)\n\n/.exec(text) ?? [];
  expect([event, JSON.parse(data ?? '')]).toEqual(['overview', expect.objectContaining({ lagMs: 0 })]);
  await reader.cancel();
  const head = await fetch(`${url}/api/stream`, { method: 'HEAD', headers: { connection: 'close' } });
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
});

const isPublic = 'isPublic';
@Injectable()
class SessionGuard implements CanActivate {
  constructor(readonly reflector: Reflector) {}
  canActivate(context: ExecutionContext): boolean {
    const places = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(isPublic, places) === true) return true;
    throw new UnauthorizedException('sign in first');
  }
}

test.each(adapters)(
  'a global guard is asked about a dashboard on %s, unless a decorator says what it looks for; its refusals are for the filters of the application',
  async (adapter) => {
    const configure = (application: INestApplication): void => {
      application.useGlobalGuards(new SessionGuard(new Reflector()));
      envelop(application);
    };
    const closed = await start({ adapter, configure });
    for (const path of ['', '/assets/main.js', '/api/info', '/api/stream']) {
      expect(await ask(closed.url + path), `for ${path}`).toMatchObject({
        status: 401,
        body: { success: false },
      });
    }
    await closed.close();
    const dashboard = { decorators: [SetMetadata(isPublic, true)] };
    const { url } = await start({ adapter, configure, dashboard });
    for (const path of ['', '/assets/main.js', '/api/info']) {
      expect((await ask(url + path)).status, `for ${path}`).toBe(200);
    }
    expect(await act(url, 'insert', { topic: 'paper' })).toMatchObject({ status: 200 });
  },
);
