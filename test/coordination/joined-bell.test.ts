import { expect, test } from 'vitest';
import { JoinedBell } from '../../lib/coordination/joined-bell.js';
import { MemoryBell } from '../../lib/coordination/memory/memory-bell.js';

/** As behind a pooler: others hear what it rings. */
class DeafBell extends MemoryBell {
  override readonly canListen = false as true;
}

test.each([
  ['the database alone, where it can be listened to', new MemoryBell(), ['database']],
  ['the bell beside it, where it cannot', new DeafBell(), ['beside']],
])('it rings both, and hears %s', async (_, database, expected) => {
  const beside = new MemoryBell();
  const joined = new JoinedBell(database, beside);
  const rung: string[] = [];
  await database.listen('ends', () => rung.push('database'));
  await beside.listen('ends', () => rung.push('beside'));
  await joined.ring('ends', '1');
  expect(rung).toEqual(['database', 'beside']);
  const heard: string[] = [];
  const stop = await joined.listen('ends', (by) => heard.push(by));
  await database.ring('ends', 'database');
  await beside.ring('ends', 'beside');
  await stop();
  await joined.ring('ends', 'after its stop');
  expect(heard).toEqual(expected);
});
