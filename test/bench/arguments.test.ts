import { expect, it } from 'vitest';
import { isChosen, readArguments } from '../../bench/arguments.js';
import { peerOf, products } from '../../bench/peers.js';
import { mysqlGoals } from '../../bench/mysql/mysql-page.js';
import { mysqlScenarios } from '../../bench/mysql/scenarios.js';
import { scenarios } from '../../bench/scenarios.js';

it('reads what was asked for', () => {
  expect(readArguments([])).toMatchObject({ runs: 3, quick: false, node: '24', scenarios: [], render: [] });
  expect(readArguments(['--quick', '--scenario', 'drain', '--peer', 'tarefa'])).toMatchObject({
    runs: 1,
    scenarios: ['drain'],
    peers: ['tarefa'],
  });
  expect(readArguments(['--render', 'a.jsonl', 'b.jsonl'])?.render).toEqual(['a.jsonl', 'b.jsonl']);
  expect(() => readArguments(['--runs', 'many'])).toThrow('--runs takes a number');
  expect(() => readArguments(['a.jsonl'])).toThrow('--render');
});

it('chooses by parts of names', () => {
  expect(isChosen('drain: tuned', [])).toBe(true);
  expect(isChosen('drain: tuned', ['wait', 'tuned'])).toBe(true);
  expect(isChosen('drain: tuned', ['wait'])).toBe(false);
});

it('names only peers that there are, and tells of every product whether it takes part', () => {
  for (const { name, peers, skips = {}, quick } of scenarios) {
    const takePart = new Set(peers.map((peer) => peerOf(peer).product));
    for (const product of Object.keys(products) as (keyof typeof products)[]) {
      if (products[product].besideMariadb) continue;
      expect(takePart.has(product) !== product in skips, `${name}: ${product}`).toBe(true);
    }
    for (const peer of Array.isArray(quick) ? quick : []) expect(peers).toContain(peer);
  }
  for (const peer of mysqlScenarios.flatMap(({ peers }) => peers)) expect(peerOf(peer).name).toBe(peer);
});

it('asks on MariaDB only for figures that its scenarios have, of peers that run them', () => {
  for (const { scenario, figure, ours, peers } of mysqlGoals) {
    const found = mysqlScenarios.find(({ name }) => name === scenario);
    expect(found?.columns).toContain(figure);
    expect(found?.peers).toEqual(expect.arrayContaining([ours, ...peers]));
  }
});
