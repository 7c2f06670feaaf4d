import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';
import { outsideNpm } from '../package/npm.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { root, stages, type Instruction } from './deployment-files.js';

const execute = promisify(execFile);
const running = new Set<ChildProcess>();

/** What the Dockerfile makes, in a folder that stands for `/app`. */
export interface Image {
  readonly folder: string;
  /** What ENV says, and what else a process needs. */
  readonly env: NodeJS.ProcessEnv;
  readonly command: readonly string[];
}

/** Does what the Dockerfile says with this Node, `/app` being a temporary folder for each stage. */
export async function buildImage(): Promise<Image> {
  const folders = new Map<string, string>();
  let image: Image | undefined;
  for (const [from, ...instructions] of stages) {
    const folder = await makeTemporaryFolder();
    folders.set(/ AS (\w+)$/.exec(from?.text ?? '')?.[1] ?? '', folder);
    image = { folder, env: outsideNpm(), command: [] };
    for (const instruction of instructions) image = await follow(instruction, image, folders);
  }
  if (!image) throw new Error('the Dockerfile has no stage');
  return image;
}

async function follow(
  { name, text }: Instruction,
  image: Image,
  folders: ReadonlyMap<string, string>,
): Promise<Image> {
  const { folder, env } = image;
  switch (name) {
    case 'WORKDIR':
      if (text !== '/app') throw new Error(`WORKDIR is ${text}`);
      return image;
    case 'ENV': {
      const given = text.split(' ').map((pair) => pair.split(/=(.*)/s, 2) as [string, string]);
      const value = (one: string): string =>
        one.replaceAll('/app', folder).replaceAll('$PATH', env['PATH'] ?? '');
      return {
        ...image,
        env: { ...env, ...Object.fromEntries(given.map(([key, one]) => [key, value(one)])) },
      };
    }
    case 'COPY':
      await copy(text, folder, folders);
      return image;
    case 'RUN':
      await execute('sh', ['-c', text], { cwd: folder, env: { ...env, npm_config_prefer_offline: 'true' } });
      return image;
    case 'CMD':
      return { ...image, command: JSON.parse(text) as string[] };
    case 'USER':
    case 'EXPOSE':
      return image;
    default:
      throw new Error(`this test does not know ${name}`);
  }
}

async function copy(text: string, folder: string, folders: ReadonlyMap<string, string>): Promise<void> {
  const [, stage, paths = ''] = /^(?:--from=(\w+) )?(.+)$/.exec(text) ?? [];
  const names = paths.split(' ');
  const target = names.pop() ?? '';
  const source = stage === undefined ? root : (folders.get(stage) ?? '');
  for (const name of names.map((one) => one.replace(/^\/app\//, ''))) {
    const place = target.endsWith('/')
      ? join(folder, target, name.split('/').at(-1) ?? '')
      : join(folder, target);
    await mkdir(dirname(place), { recursive: true });
    // With links as they are.
    await cp(join(source, name), place, { recursive: true, verbatimSymlinks: true });
  }
}

/** A process as a container would run it. */
export interface Container {
  readonly process: ChildProcess;
  /** What it has printed, both streams. */
  readonly output: () => string;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** Starts a command of the image; what still runs at the end of the file is killed. */
export function runIn(image: Image, command: readonly string[], env: NodeJS.ProcessEnv): Container {
  const [program = '', ...args] = command.length > 0 ? command : image.command;
  const child = spawn(program, args, {
    cwd: image.folder,
    env: { PATH: image.env['PATH'], NODE_ENV: image.env['NODE_ENV'], HOME: image.folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  const ended = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve(code ?? signal);
    });
  });
  return { process: child, output: () => output, ended };
}

afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});
