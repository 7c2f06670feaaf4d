import { Module, type DynamicModule } from '@nestjs/common';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Dashboard } from '../../lib/dashboard/dashboard.js';
import { getPartToken } from '../../lib/options/part-token.js';
import { QueueHealthIndicator } from '../../lib/terminus/index.js';
import type { QueueApp } from './queue-app.js';

@Module({ imports: [TerminusModule.forRoot({ logger: false })], providers: [QueueHealthIndicator] })
class HealthModule {}

/** What an application needs to be asked {@link healthOf}. */
export const healthModule: DynamicModule = { module: HealthModule };

/** What terminus makes of the worker. */
export async function healthOf({ app }: QueueApp): Promise<unknown> {
  const service = app.get(HealthCheckService, { strict: false });
  const indicator = app.get(QueueHealthIndicator, { strict: false });
  return service.check([() => indicator.isHealthy('queue')]).then(
    ({ details }) => details['queue'],
    (error: { getResponse(): { details: Record<string, unknown> } }) => error.getResponse().details['queue'],
  );
}

/** What the page shows of it. */
export async function stalledOnPage({ app }: QueueApp): Promise<readonly object[]> {
  const dashboard = app.get<Dashboard>(getPartToken(undefined, 'dashboard'), { strict: false });
  const { problems } = await dashboard.overview.read();
  return problems.filter(({ kind }) => kind === 'stalled-worker');
}
