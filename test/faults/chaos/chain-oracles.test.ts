import { describe, expect, test } from 'vitest';
import { attempted, useJudges } from './judges-bench.js';
import { bounded, chainShape, deadOnce } from './oracles/chains.js';

const bench = useJudges();

describe('I5', () => {
  test('a gap in the attempts', async () => {
    const id = await bench.row({ status: 'falha', reenfileirado: true });
    await bench.row({ status: 'sucesso', id_inicial: id, id_anterior: id, tentativa: 3 });
    expect(await bench.ask(chainShape)).toEqual(['I5: the attempts of a chain are not numbered 1 to n']);
  });

  test('a failure without its next attempt', async () => {
    await bench.row({ status: 'falha', reenfileirado: true });
    expect(await bench.ask(chainShape)).toEqual([
      'I5: an attempt has not exactly the successors its outcome asks for',
    ]);
  });

  test('a failure with two next attempts, both alive', async () => {
    await bench.client.query('drop index tasks_successor');
    const id = await bench.row({ status: 'falha', reenfileirado: true });
    const next = { id_inicial: id, id_anterior: id, tentativa: 2 };
    await bench.row({ ...next, status: 'pendente' });
    await bench.row({ ...next, status: 'processando' });
    expect(await bench.ask(chainShape)).toEqual([
      'I5: the attempts of a chain are not numbered 1 to n',
      'I5: an attempt has not exactly the successors its outcome asks for',
      'I5: a chain has more than one attempt that is not over',
    ]);
  });

  test('an attempt after the success', async () => {
    const id = await bench.row({ status: 'sucesso' });
    await bench.row({ status: 'sucesso', id_inicial: id, tentativa: 2 });
    expect(await bench.ask(chainShape)).toEqual(['I5: a chain went on after it had succeeded']);
  });
});

describe('I6', () => {
  const doomed = { processo: 'doomed', status: 'falha', estouro_tentativas: true };

  test('a chain that gave up, and nobody was told', async () => {
    await bench.row(doomed);
    bench.see(attempted('task-1', 'doomed'));
    expect(await bench.ask(deadOnce)).toEqual([
      'I6: a chain has not exactly the dead chains its end asks for',
    ]);
  });

  test('two dead chains, and one of a task that is fine', async () => {
    await bench.client.query('drop index tasks_dead');
    bench.see(attempted('task-1', 'doomed'));
    const id = await bench.row(doomed);
    await bench.row({ status: 'sucesso', dead: true, live_id: id });
    expect(await bench.ask(deadOnce)).toEqual([]);
    await bench.row({ status: 'sucesso', dead: true, live_id: id });
    await bench.row({ status: 'sucesso', dead: true, live_id: await bench.row({ status: 'sucesso' }) });
    expect(await bench.ask(deadOnce)).toEqual([
      'I6: a chain has not exactly the dead chains its end asks for',
      'I6: a dead chain names no exhausted chain',
    ]);
  });

  test('an innocent task that was buried', async () => {
    const id = await bench.row({ status: 'falha', estouro_tentativas: true, perdas: 4 });
    await bench.row({ status: 'sucesso', dead: true, live_id: id });
    bench.see(attempted('task-1'));
    expect(await bench.ask(deadOnce)).toEqual(['I6: an innocent task was buried']);
  });
});

test('I7: a fourth attempt where three are allowed', async () => {
  await bench.row({ processo: 'doomed', status: 'falha', tentativa: 4 });
  bench.see(attempted('task-1', 'doomed'));
  expect(await bench.ask(bounded)).toEqual(['I7: a task had more attempts or losses than allowed']);
});
