import { ConsoleLogger, Logger } from '@nestjs/common';
import { afterAll, afterEach, vi } from 'vitest';
import { removeTemporaryFolders } from './folders.js';
import { killChildren } from './processes.js';

// Vitest runs this before each test file. Files may share a process, so what one has changed in it ends with the file.
const environment = { ...process.env };

// After what the file itself does: an application is closed under the clock and the spies that it ran with.
afterEach(() => void vi.restoreAllMocks());

afterAll(async () => {
  vi.useRealTimers();
  Logger.overrideLogger(new ConsoleLogger());
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
  await killChildren();
  await removeTemporaryFolders();
});
