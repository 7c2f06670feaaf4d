import { ConsoleLogger, Logger } from '@nestjs/common';
import { afterAll, vi } from 'vitest';
import { removeTemporaryFolders } from './folders.js';
import { killChildren } from './processes.js';

// Vitest runs this before each test file. Files may share a process, so what one has changed in it ends with the file.
const environment = { ...process.env };

afterAll(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  Logger.overrideLogger(new ConsoleLogger());
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
  await killChildren();
  await removeTemporaryFolders();
});
