import { afterEach, expect, test } from 'vitest';
import { DeadTaskHandler, TaskHandler } from '../../lib/index.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';
import { acceptRows, refuseRows } from '../support/refusing-trigger.js';

const bench = useQueue();

afterEach(() => acceptRows(bench.pool));

async function startFailing() {
  class Failing {
    @TaskHandler('retried', { maxAttempts: 2 })
    @TaskHandler('buried', { maxAttempts: 1 })
    fail(): void {
      throw new Error('boom');
    }
    @TaskHandler('succeed', { maxAttempts: 1 })
    succeed(): void {}
    @DeadTaskHandler()
    dead(): void {}
  }
  return bench.start({ handlers: [Failing], retryIntervalMinutes: 0 });
}

const untouched = {
  status: 'processando',
  mensagem: null,
  erro: null,
  finalizada_em: null,
  proxima_tentativa: null,
  reenfileirado: false,
  estouro_tentativas: false,
};

test.each([
  { what: 'next attempt', topic: 'retried', condition: `new.status = 'agendada'`, attempts: 3 },
  { what: 'dead chain', topic: 'buried', condition: `new.dead`, attempts: 2 },
])(
  'when the $what cannot be inserted the row stays processando, and recovers by itself',
  async ({ topic, condition, attempts }) => {
    const { queue, events } = await startFailing();
    await refuseRows(bench.pool, {
      when: 'before insert',
      condition: `new.chave_externa = 'poison' and ${condition}`,
      message: 'no such row today',
    });
    const refused = nextEvent(events, 'warning', ({ message }) => message.includes('no such row today'));
    // In one claim, so that their failures are written together.
    const [poison = '', harmless = ''] = await queue.insertTasks([
      { topic, externalKey: 'poison' },
      { topic, externalKey: 'harmless' },
    ]);
    await refused;
    expect(await bench.chain(poison)).toMatchObject([untouched]);
    await bench.endedChain(harmless, attempts);
    expect(await bench.ended(await queue.insertTask({ topic: 'succeed' }))).toMatchObject({
      status: 'sucesso',
    });
    expect(await bench.chain(poison)).toMatchObject([untouched]);

    await acceptRows(bench.pool);
    const chain = await bench.endedChain(poison, attempts);
    expect(chain[0]).toMatchObject({ status: 'falha', mensagem: expect.stringMatching(/^boom/), reserva: 1 });
    expect(chain.at(-1)).toMatchObject({ status: 'sucesso', dead: true });
    expect(chain).toHaveLength(attempts);
  },
);

test('an outcome that a trigger of the user refuses fails its attempt by its own rules, and no other one', async () => {
  const { queue } = await startFailing();
  await refuseRows(bench.pool, {
    when: 'before update',
    condition: `new.status = 'sucesso' and new.chave_externa = 'poison' and not new.dead`,
    message: 'no such row today',
  });
  const ids = await queue.insertTasks(
    ['a', 'poison', 'b'].map((externalKey) => ({ topic: 'succeed', externalKey })),
  );
  expect(await bench.ended(ids[0] ?? '')).toMatchObject({ status: 'sucesso' });
  expect(await bench.ended(ids[2] ?? '')).toMatchObject({ status: 'sucesso' });
  const [refused] = await bench.endedChain(ids[1] ?? '', 2);
  expect(refused).toMatchObject({ status: 'falha', mensagem: 'no such row today (no attempts left)' });
});
