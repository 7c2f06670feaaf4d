import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll } from 'vitest';
import type { EmbeddedPostgres, EmbeddedPostgresOptions } from '../../lib/embedded/embedded-options.js';
import { startOn } from '../../lib/embedded/start-on.js';
import { thisMachine, type Machine } from '../../lib/embedded/machine.js';
import { isServerOf } from '../../lib/embedded/process-table.js';
import { waitUntil } from '../../lib/embedded/wait-until.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { forkChild, type Child } from '../support/processes.js';

export const isRoot = process.getuid?.() === 0;

const started: EmbeddedPostgres[] = [];

let sharedFolder: Promise<string> | undefined;

/** This computer, but with a shared folder that is the test file's own. */
export async function makeMachine(changes: Partial<Machine> = {}): Promise<Machine> {
  sharedFolder ??= makeTemporaryFolder();
  return { ...thisMachine, sharedFolders: [await sharedFolder], ...changes };
}

/** Starts a server that is stopped at the end of the file at the latest. */
export async function startServer(
  machine: Machine,
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const server = await startOn(machine, options);
  started.push(server);
  return server;
}

/** A process of its own that has started or joined the server of a folder. */
export interface Application {
  readonly child: Child;
  readonly url: string;
  readonly port: number;
  readonly data: string;
  /** What the start logged. */
  readonly lines: readonly string[];
}

export async function startApplication(
  dataDir: string,
  options: { readonly rounds?: number; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Application> {
  const { sharedFolders } = await makeMachine();
  const args = [dataDir, String(sharedFolders[0]), String(options.rounds ?? 1)];
  const child = forkChild('embedded-server', { args, env: options.env ?? {} });
  const { url, port, data, lines } = await child.message('started');
  return { child, url: String(url), port: Number(port), data: String(data), lines: listOf(lines) };
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** Runs one statement and returns its rows. */
export async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Process id of the server in a data directory. */
export async function serverPid(data: string): Promise<number> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8');
  return Number(text.split('\n')[0]);
}

/** Waits until that server is gone; it is nobody's child here, so there is no event. */
export async function serverGone(pid: number, data: string): Promise<boolean> {
  const gone = await waitUntil(() => (isServerOf(pid, data) ? undefined : true), {
    everyMs: 5,
    timeoutMs: 10_000,
  });
  return gone ?? false;
}

afterAll(async () => {
  await Promise.all(started.map((server) => server.stop()));
});
