import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { parse } from 'yaml';

export const root = resolve(import.meta.dirname, '../..');

/** A service of docker-compose.yml, as far as it is used there. */
export interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly stop_grace_period?: string;
  readonly restart?: string;
}

/** An instruction of the Dockerfile: `COPY`, and what stands behind it. */
export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** docker-compose.yml as it is written, and read. */
export const composeText = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
export const services = (
  parse(composeText, { merge: true, strict: true }) as {
    readonly services: Readonly<Record<string, Service>>;
  }
).services;

/** What .env.dist sets. */
export const distVariables = parseEnv(readFileSync(join(root, '.env.dist'), 'utf8')) as Readonly<
  Record<string, string>
>;

/** The Dockerfile, an instruction each, by stages. */
export const stages: readonly (readonly Instruction[])[] = readStages();

function readStages(): Instruction[][] {
  const text = readFileSync(join(root, 'Dockerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', '');
  const read: Instruction[][] = [];
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const [, name = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (name === '') throw new Error(`Dockerfile: what is ${line}?`);
    if (name === 'FROM') read.push([]);
    read.at(-1)?.push({ name, text: rest });
  }
  return read;
}

/** What `docker compose` makes of `${NAME:-default}` and `${NAME:?message}`. */
export function interpolate(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind?: string, rest = '') => {
    const value = variables[name];
    if (value !== undefined && value !== '') return value;
    if (kind === '?') throw new Error(`${name}: ${rest as string}`);
    return kind === '-' ? String(rest) : '';
  });
}
