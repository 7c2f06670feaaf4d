import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { expect, test } from 'vitest';
import { QueueClient, QueueModule } from '../../lib/index.js';
import { QueueTester, withoutDatabase } from '../../lib/testing/index.js';

@Module({ imports: [QueueModule] })
class FeatureModule {}

test('QueueModule without forRoot is refused: there would be no queue, and nobody would be told', async () => {
  const compiled = Test.createTestingModule({ imports: [FeatureModule] }).compile();
  await expect(compiled).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining('QueueModule is imported without forRoot()'),
  });
});

test('beside one with options it changes nothing: the queue is for the whole application', async () => {
  const queue = QueueModule.forRoot({ connection: 'postgres://nowhere/app', queue: 'tasks' });
  const builder = Test.createTestingModule({ imports: [FeatureModule, queue] });
  const module = await withoutDatabase(builder).compile();
  await module.init();
  await module.get(QueueClient).insertTask({ topic: 'x' });
  expect(await QueueTester.of(module).inserted()).toHaveLength(1);
  await module.close();
});
