import { MemoryBell } from '../../../lib/coordination/memory/memory-bell.js';
import { LivingWorkers, MemoryLiveness } from '../../../lib/coordination/memory/memory-liveness.js';
import { MemoryDatabase } from '../../../lib/storage/memory/memory-database.js';
import type { OpenBells, OpenLiveness } from './opened.js';

export const openMemoryBells: OpenBells = async () => {
  const bell = new MemoryBell();
  return { one: bell, other: bell, stranger: new MemoryBell() };
};

export const openMemoryLiveness: OpenLiveness = async () => {
  const living = new LivingWorkers();
  const { workers } = new MemoryDatabase({ name: 'tasks', now: () => Date.now(), living: living.ids });
  return { one: new MemoryLiveness(living, workers), other: new MemoryLiveness(living, workers), workers };
};
