import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { Client } from 'pg';
import type { Arguments } from './arguments.js';
import { inSources } from './folders.js';
import { peerVersions } from './peers-installation.js';
import type { EnvironmentLine } from './result-line.js';
import type { PostgresServer } from './servers/postgres-server.js';
import type { Servers } from './servers/servers.js';

/** Where and with what this is run, as far as it matters. */
export async function describeEnvironment(
  { quick, runs }: Pick<Arguments, 'quick' | 'runs'>,
  { postgres, redisNote }: Servers,
  nodes: { readonly own: string; readonly peers: string },
): Promise<EnvironmentLine> {
  return {
    type: 'environment',
    date: new Date().toISOString(),
    commit: describeCommit(),
    size: quick ? 'quick' : 'full',
    runs,
    machine: describeMachine(),
    commitsPerSecond: await commitsPerSecond(postgres),
    node: { tarefa: versionOf(nodes.own), peers: versionOf(nodes.peers) },
    postgres: await postgres.settings(),
    redis: redisNote,
    versions: { 'nestjs-tarefa': libraryVersion(), ...peerVersions() },
  };
}

function versionOf(node: string): string {
  return execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
}

function describeMachine(): EnvironmentLine['machine'] {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()} ${arch()}`,
  };
}

/** The commit that is measured, with `+` when files were changed since. */
function describeCommit(): string | undefined {
  try {
    const git = (...args: string[]): string =>
      execFileSync('git', args, { cwd: inSources('.'), encoding: 'utf8', stdio: 'pipe' }).trim();
    const changed = git('status', '--porcelain', '--', '../lib') === '' ? '' : '+';
    return `${git('rev-parse', '--short', 'HEAD')}${changed}`;
  } catch {
    return undefined;
  }
}

/** Version of the library. */
function libraryVersion(): string {
  return (JSON.parse(readFileSync(inSources('../package.json'), 'utf8')) as { version: string }).version;
}

/** Durable commits of one small row, one after another on one connection, for a second. */
async function commitsPerSecond(postgres: PostgresServer): Promise<number> {
  const url = await postgres.createDatabase('bench_commits');
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('create table probe (i int)');
  let commits = 0;
  const begun = performance.now();
  while (performance.now() - begun < 1_000) {
    await client.query({ name: 'probe', text: 'insert into probe values ($1)', values: [commits] });
    commits += 1;
  }
  const seconds = (performance.now() - begun) / 1_000;
  await client.end();
  await postgres.dropDatabase('bench_commits');
  return Math.round(commits / seconds);
}
