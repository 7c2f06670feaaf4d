import { expect, test } from 'vitest';
import type { BellTopic, HeardMessages } from '../../lib/coordination/bell.js';
import { JoinedBell } from '../../lib/coordination/joined-bell.js';
import { MemoryBell } from '../../lib/coordination/memory/memory-bell.js';
import type { HearingChanged } from '../../lib/coordination/session.js';

/** A bell whose listeners can be told that they hear nothing. */
class FailingBell extends MemoryBell {
  readonly changed: HearingChanged[] = [];

  override listen<Topic extends BellTopic>(
    topic: Topic,
    heard: (message: HeardMessages[Topic]) => void,
    changed: HearingChanged = () => undefined,
  ): Promise<() => Promise<void>> {
    this.changed.push(changed);
    return super.listen(topic, heard);
  }
}

test('it rings both, and hears what either carries until it is stopped', async () => {
  const [database, beside] = [new MemoryBell(), new MemoryBell()];
  const joined = new JoinedBell(database, beside);
  const heard: Record<string, string[]> = { database: [], beside: [], joined: [] };
  await database.listen('ends', (id) => heard['database']?.push(id));
  await beside.listen('ends', (id) => heard['beside']?.push(id));
  await joined.ring('ends', '1');
  expect(heard).toEqual({ database: ['1'], beside: ['1'], joined: [] });
  const stop = await joined.listen('ends', (id) => heard['joined']?.push(id));
  await database.ring('ends', '2');
  await beside.ring('ends', '3');
  await stop();
  await joined.ring('ends', '4');
  expect(heard['joined']).toEqual(['2', '3']);
});

test('it hears again when both do', async () => {
  const [database, beside] = [new FailingBell(), new FailingBell()];
  const told: unknown[] = [];
  await new JoinedBell(database, beside).listen(
    'tasks',
    () => undefined,
    (refusal) => told.push(refusal),
  );
  database.changed[0]?.('no right');
  beside.changed[0]?.('no server');
  database.changed[0]?.(undefined);
  beside.changed[0]?.(undefined);
  expect(told).toEqual(['no right', 'no right', 'no server', undefined]);
});
