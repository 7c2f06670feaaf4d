import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commands } from '../../lib/cli/commands.js';
import { commonOptions } from '../../lib/cli/common-options.js';
import { parseArguments } from '../../lib/cli/parse-arguments.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { composeText, distVariables, interpolate, root, services, stages } from './deployment-files.js';

const settings = readFileSync(join(root, 'sample-app/settings.ts'), 'utf8');
const readBySettings = new Set(
  [...settings.matchAll(/process\.env\['(\w+)'\]/g)].map(([, name = '']) => name),
);
const readByCompose = new Set([...composeText.matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name));

test('there is a database, what makes the tables, a producer, a worker and one for webhooks', () => {
  expect(Object.keys(services)).toEqual(['database', 'migrate', 'producer', 'worker', 'webhooks']);
});

test('every variable is in .env.dist, and all of those are used', () => {
  const declared = Object.keys(distVariables);
  expect([...readByCompose].filter((name) => !declared.includes(name))).toEqual([]);
  expect([...readBySettings].filter((name) => !declared.includes(name))).toEqual([]);
  expect(declared.filter((name) => !readByCompose.has(name) && !readBySettings.has(name))).toEqual([]);
});

test('what the roles are given is read by them', () => {
  for (const name of ['producer', 'worker'] as const) {
    const given = Object.keys(services[name]?.environment ?? {});
    expect(given.filter((variable) => !readBySettings.has(variable))).toEqual([]);
  }
  for (const name of ['migrate', 'webhooks'] as const) {
    expect(Object.keys(services[name]?.environment ?? {})).toEqual(['DATABASE_URL']);
  }
});

test('no secret is written down, and compose refuses to start without one', () => {
  expect(distVariables['DATABASE_PASSWORD']).toBe('');
  expect(() => interpolate(composeText, distVariables)).toThrow(
    /DATABASE_PASSWORD: copy \.env\.dist to \.env/,
  );
  expect(interpolate(composeText, { DATABASE_PASSWORD: 'x1' })).toContain(
    'postgres://shop:x1@database:5432/shop',
  );
  const secret = /pass|secret|token|key/i;
  const given = [
    ...Object.entries(distVariables),
    ...Object.values(services).flatMap(({ environment = {} }) => Object.entries(environment)),
  ];
  const written = given.filter(([name, value]) => secret.test(name) && !/^(\$\{.*\})?$/.test(String(value)));
  expect(written).toEqual([]);
  const baked = stages.flat().filter(({ name, text }) => /^(ENV|ARG)$/.test(name) && secret.test(text));
  expect(baked).toEqual([]);
});

test('whoever is waited for is there, and healthy or over at some time', () => {
  const waits = Object.values(services).flatMap(({ depends_on: waited = {} }) => Object.entries(waited));
  const endless = waits.filter(([name, { condition }]) => {
    const service = services[name];
    if (condition === 'service_healthy') return service?.healthcheck === undefined;
    return condition !== 'service_completed_successfully' || service?.restart !== 'no';
  });
  expect(waits.length).toBeGreaterThan(0);
  expect(endless).toEqual([]);
});

test('a role has more time to stop than its worker takes', () => {
  const { shutdownTimeoutMs } = resolveOptions({ connection: 'postgres://', queue: 'shop_queue' }, {});
  for (const name of ['producer', 'worker', 'webhooks']) {
    const [, seconds] = /^(\d+)s$/.exec(services[name]?.stop_grace_period ?? '') ?? [];
    expect(Number(seconds) * 1_000).toBeGreaterThanOrEqual(shutdownTimeoutMs + 5_000);
  }
});

test('every command is a list, so that no shell keeps signals, and one that the command line takes', () => {
  for (const { command } of Object.values(services)) {
    if (command === undefined) continue;
    expect(command).toBeInstanceOf(Array);
    const [program, name, ...args] = command;
    const found = commands.find((one) => one.name === name);
    expect([program, found?.name]).toEqual(['tarefa', name]);
    expect(() => parseArguments(args, { ...commonOptions, ...found?.options })).not.toThrow();
  }
  const last = stages.at(-1) ?? [];
  expect(JSON.parse(last.find(({ name }) => name === 'CMD')?.text ?? '')).toBeInstanceOf(Array);
});

test('the image is built in stages, and does not run as root', () => {
  const bases = stages.map(([from]) => from?.text ?? '');
  expect(bases).toEqual([
    expect.stringMatching(/^node:\d+-\S+ AS build$/),
    expect.stringMatching(/^node:\d+-\S+$/),
  ]);
  expect(bases[0]?.split(' ')[0]).toBe(bases[1]);
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    engines: { node: string };
  };
  const [, least] = /^>=(\d+)/.exec(engines.node) ?? [];
  expect(Number(/^node:(\d+)/.exec(bases[1] ?? '')?.[1])).toBeGreaterThanOrEqual(Number(least));
  const names = (stages.at(-1) ?? []).map(({ name }) => name);
  expect(names.indexOf('USER')).toBeGreaterThan(names.lastIndexOf('RUN'));
  expect(stages.at(-1)?.find(({ name }) => name === 'USER')?.text).toBe('node');
});

test('what is copied exists, and .dockerignore lets that through and nothing else', () => {
  const [everything, ...kept] = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(everything).toBe('*');
  const copied = stages
    .flat()
    .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from'))
    .flatMap(({ text }) => text.split(' ').slice(0, -1));
  expect(copied.map((path) => `!${path}`).sort()).toEqual([...kept].sort());
  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
