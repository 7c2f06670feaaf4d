import { expect, test } from 'vitest';
import { useOpenedMysql } from './mysql-opened.js';

const open = useOpenedMysql('mariadb');

test('a transaction that fails while the trigger is told to leave its rows alone leaves no connection so', async () => {
  const { queue, ask } = await open();
  const fails = queue.own.transaction((run) => run('set @tarefa_inserts = 1; select nothing from nowhere'));
  await expect(fails).rejects.toThrow('nowhere');
  // Idle connections take turns.
  for (let turn = 0; turn < 10; turn += 1) {
    expect(await ask('select @tarefa_inserts as queue')).toEqual([{ queue: null }]);
  }
});
