import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { useDatabase } from '../support/database.js';

const { url } = await useDatabase();
const run = promisify(execFile);

/** What a reader of the engine follows. Lower both when it becomes less, never the other way. */
const most = { files: 41, functions: 176 };

test('the way of a trivial task from its insert to its completion does not grow', async () => {
  const script = join(import.meta.dirname, '../../scripts/trace.mjs');
  const { stdout } = await run(process.execPath, [script], {
    env: {
      ...process.env,
      DATABASE_URL: url,
      TAREFA_LIBRARY: pathToFileURL(join(inject('buildDir'), 'lib/index.js')).href,
    },
  });
  const [, files, functions] = /(\d+) files, (\d+) named functions\n$/.exec(stdout) ?? [];
  expect(stdout).toContain('client/queue-client.ts: insertTask');
  expect(stdout).toContain('worker/running/executor.ts: run');
  expect(Number(files)).toBeLessThanOrEqual(most.files);
  expect(Number(functions)).toBeLessThanOrEqual(most.functions);
});
