import { expect, test } from 'vitest';
import type { IsolateKind } from '../../../lib/options/isolation-options.js';
import { makeTemporaryFolder } from '../../support/folders.js';
import { twins, type TwinResult } from '../../support/children/twins.js';
import type { QueueApp } from '../../support/queue-app.js';
import { until } from '../../support/waiting.js';
import { useQueue, type AttemptRow } from '../queue-bench.js';
import { childFile, useIsolated } from './isolated-bench.js';

const bench = useQueue();
const isolated = useIsolated(bench);
const kinds: readonly IsolateKind[] = ['thread', 'process', 'detached'];

async function start(kind: IsolateKind): Promise<QueueApp> {
  process.env['ISOLATED_URL'] = bench.database.url;
  const isolation = {
    module: childFile('isolated-module'),
    threads: 1,
    processes: 1,
    outputDir: await makeTemporaryFolder(),
  };
  return bench.start({ handlers: [twins[kind]], isolation });
}

/** MariaDB answers JSON as text. */
function resultOf({ status, mensagem, resultado }: AttemptRow): TwinResult {
  expect({ status, mensagem }).toEqual({ status: 'sucesso', mensagem: 'completed' });
  return (typeof resultado === 'string' ? JSON.parse(resultado) : resultado) as TwinResult;
}

function expectApart(kind: IsolateKind, { pid, isMainThread }: TwinResult): void {
  expect({ isThisProcess: pid === process.pid, isMainThread }).toEqual(
    kind === 'thread'
      ? { isThisProcess: true, isMainThread: false }
      : { isThisProcess: false, isMainThread: true },
  );
}

test.each(kinds)('a handler and that of its dead tasks run isolated as %s', async (kind) => {
  const { queue } = await start(kind);
  const id = await queue.insertTask({ topic: `${kind} give up`, payload: 'data' });
  const [live, dead] = await bench.endedChain(id, 2);
  expect(live).toMatchObject({ status: 'falha', mensagem: 'out of range (no attempts left)' });
  const erro = String(live?.['erro']);
  expect(erro).toMatch(/^RangeError: out of range\n +at Twins\.giveUp \(/);
  for (const part of ["code: 'E_RANGE'", '[cause]: TypeError: the cause', "code: 'E_CAUSE'"]) {
    expect(erro).toContain(part);
  }
  expect(dead).toMatchObject({ dead: true });
  const result = resultOf(dead as AttemptRow);
  expect(result).toMatchObject({ payload: 'data', dead: true });
  expectApart(kind, result);
  const effects = await isolated.effects();
  expect(effects).not.toContain(id);
  expect(effects).toContain(dead?.id);
});

test.each(kinds)('a subscriber and that of its dead deliveries run isolated as %s', async (kind) => {
  const { queue } = await start(kind);
  const subscription = `${kind} mail`;
  await queue.insertTaskPubSub({ topic: `${kind} placed`, payload: 'letter' });
  await queue.insertTaskPubSub({ topic: `${kind} placed`, payload: 'fail' });
  const deliveries = await until(async () => {
    const { rows } = await bench.pool.query<AttemptRow>(
      "select * from tasks where subscriber_id = $1 and status in ('sucesso', 'falha') order by id",
      [subscription],
    );
    return rows.length === 3 && rows;
  }, 'two deliveries and a dead one');
  const results = deliveries.filter(({ status }) => status === 'sucesso').map(resultOf);
  expect(results).toMatchObject([
    { payload: 'letter', subscription, dead: false },
    { payload: 'fail', subscription, dead: true },
  ]);
  for (const result of results) expectApart(kind, result);
});
