import { expect, test } from 'vitest';
import { QueueAdmin } from '../../../lib/index.js';
import { DetachedHandlers } from '../../support/children/detached-module.js';
import { useDetached } from '../../support/detached-run.js';
import { until } from '../../support/waiting.js';
import { useQueue } from '../queue-bench.js';

const bench = useQueue();
const detached = useDetached(() => bench.database);

test('code that never lets its event loop run is ended when it is cancelled, or over time', async () => {
  const { queue, app } = await bench.start({ handlers: [DetachedHandlers], ...detached.options });
  const overTime = await queue.insertTask({ topic: 'block too long' });
  const cancelled = await queue.insertTask({ topic: 'block' });
  await detached.started(1);
  await app.get(QueueAdmin).cancel(cancelled, { by: 'ana' });
  const hasFailed = async (id: string): Promise<boolean> => (await bench.statusOf(id)) === 'falha';
  await until(() => hasFailed(overTime), 'the end of the one that is over time', 60_000);
  await until(() => hasFailed(cancelled), 'the end of the one that was cancelled', 60_000);
  expect(await bench.row(cancelled)).toMatchObject({ cancelada_por: 'ana' });
  expect(await bench.chain(cancelled)).toHaveLength(1);
  expect((await bench.row(overTime)).mensagem).toContain('was killed by SIGKILL');
}, 120_000);
