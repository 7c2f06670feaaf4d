import { expect, test } from 'vitest';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

test('a worker that was noted as missing before it held its lock is not, by the time it claims', async () => {
  const first = await bench.start({ autoStart: false });
  await first.close();
  // As if somebody had looked between its registration and its lock.
  await bench.pool.query(
    `create function noted() returns trigger language plpgsql as
       $$ begin new.missed_at := now() - interval '1 hour'; return new; end $$;
     create trigger noted before insert on tasks_worker for each row execute function noted()`,
  );
  const { worker } = await bench.start({ recovery: false });
  const { rows } = await bench.pool.query('select id, missed_at from tasks_worker where stopped_at is null');
  expect(rows).toEqual([{ id: worker.id, missed_at: null }]);
});
