import { afterEach, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { nextEvent, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

/** Refuses to insert rows for which the condition holds, until it is removed. */
async function refuseInserts(condition: string) {
  await bench.pool.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no such row today'; end $$;
    create trigger refuse before insert on tasks for each row when (${condition}) execute function refuse()`);
  return { stop: () => bench.pool.query('drop function if exists refuse cascade') };
}

afterEach(() => bench.pool.query('drop function if exists refuse cascade'));

async function startFailing() {
  let tries = 0;
  class Failing {
    @TaskHandler('fail')
    fail(_: unknown, { task }: TaskContext): void {
      tries += 1;
      if (task.attempt === 1) throw new Error('boom');
    }
    @TaskHandler('succeed')
    succeed(): void {}
  }
  const app = await bench.start({ handlers: [Failing], maxAttempts: 2, retryIntervalMinutes: 0 });
  return { ...app, tries: () => tries };
}

test.each([
  ['the next attempt', `new.status = 'agendada' and new.chave_externa = 'poison'`, 2],
  ['the dead chain', `new.dead and new.chave_externa = 'poison'`, 3],
])(
  'scenario 39: when %s cannot be inserted the attempt stays processando, others go on, and it recovers by itself',
  async (_, condition, attempts) => {
    const { queue, events, tries } = await startFailing();
    const refusal = await refuseInserts(condition);
    if (attempts === 3) await bench.pool.query('alter table tasks alter tentativa set default 2');
    const troubled = nextEvent(events, 'warning', ({ message }) => message.includes('no such row today'));
    const poison = await queue.insertTask({ topic: 'fail', externalKey: 'poison' });
    await troubled;
    // Meanwhile other tasks are claimed, fail and succeed.
    const failing = await queue.insertTask({ topic: 'fail', externalKey: 'harmless' });
    const fine = await queue.insertTask({ topic: 'succeed' });
    await until(async () => (await bench.row(fine)).status === 'sucesso', 'another task to succeed');
    await bench.endedChain(failing, 1);
    const [row, ...others] = await bench.chain(poison);
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      status: 'processando',
      mensagem: null,
      erro: null,
      finalizada_em: null,
      proxima_tentativa: null,
      reenfileirado: false,
      estouro_tentativas: false,
    });
    const before = tries();
    await refusal.stop();
    const [first] = await bench.endedChain(poison, attempts - 1);
    await bench.pool.query('alter table tasks alter tentativa set default 1');
    expect(first).toMatchObject({ status: 'falha', mensagem: expect.stringContaining('boom') });
    expect(before).toBeGreaterThan(0);
  },
);
