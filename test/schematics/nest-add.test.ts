import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { jestConfig } from '../../lib/schematics/jest-config.js';
import nestAdd, { type NestAddOptions } from '../../lib/schematics/nest-add.js';
import { documentAt } from '../docs/documents.js';

const schema = readJson('../../schematics/nest-add.schema.json') as {
  readonly properties: Readonly<
    Record<string, { readonly default?: unknown; readonly 'x-prompt'?: unknown }>
  >;
  readonly required?: unknown;
};

const main = `import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module';

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  await app.listen(process.env.PORT ?? 3000);
}
bootstrap();
`;

const onNest11 = {
  'package.json': `${JSON.stringify({ scripts: { test: 'jest' }, devDependencies: { jest: '1', 'ts-jest': '1' } }, null, 2)}\n`,
  'src/main.ts': main,
  'src/app.module.ts': appModule('imports: [],'),
};

const onNest12 = {
  ...onNest11,
  'package.json': JSON.stringify({ type: 'module', devDependencies: { vitest: '4' } }),
};

test('with CommonJS and Jest: module, example, hooks, and a configuration of its own for the test', async () => {
  const { files, log } = add(onNest11);
  expect(files['src/app.module.ts']).toBe(
    appModule(
      `imports: [
    OrderPlacedModule,
    QueueModule.forRoot({
      connection: process.env.DATABASE_URL ?? 'embedded',
      queue: 'app_queue',
    }),
  ],`,
      `import { OrderPlacedModule } from './order-placed/order-placed.module';
import { QueueModule } from 'nestjs-tarefa';
`,
    ),
  );
  expect(files['src/main.ts']).toContain(
    'create(AppModule);\n  app.enableShutdownHooks();\n  await app.listen',
  );
  expect(Object.keys(files).filter((name) => !(name in onNest11))).toEqual([
    'src/order-placed/order-placed.publisher.ts',
    'src/order-placed/order-confirmation.subscriber.ts',
    'src/order-placed/order-placed.module.ts',
    'src/order-placed/order-placed.queue-spec.ts',
    'test/jest-queue.json',
  ]);
  const manifest = JSON.parse(files['package.json'] ?? '') as { scripts: Record<string, string> };
  expect(Object.keys(manifest.scripts)).toEqual(['test', 'test:queue']);
  expect(JSON.parse(files['test/jest-queue.json'] ?? '')).toMatchObject({ rootDir: '../src' });
  expect(log).toEqual([expect.stringContaining('DATABASE_URL'), 'Run the test: npm run test:queue']);
  await expectFormatted(files);
});

test('with ES modules and Vitest: imports end with .js, and no configuration is needed', async () => {
  const { files } = add(onNest12);
  expect(files['src/app.module.ts']).toContain("from './order-placed/order-placed.module.js';");
  expect(files['src/order-placed/order-placed.spec.ts']).toContain("from './order-placed.publisher.js';");
  expect(files['package.json']).toBe(onNest12['package.json']);
  expect(Object.keys(files).filter((name) => name.includes('jest'))).toEqual([]);
  await expectFormatted(files);
});

test('a second time nothing changes, and what is there already is left', () => {
  const once = add(onNest11).files;
  const twice = add(once);
  expect(twice.files).toEqual(once);
  expect(twice.log).toEqual(['src/app.module.ts already imports nestjs-tarefa: nothing was changed']);

  const own = { ...onNest11, 'src/order-placed/order-placed.module.ts': 'mine' };
  const { files, log } = add(own);
  expect(files['src/order-placed/order-placed.module.ts']).toBe('mine');
  expect(log).toContain('src/order-placed/order-placed.module.ts already exists and was left unchanged');
});

test.each([
  ['elements on one line', 'imports: [A, B.forRoot({ c: [1] }),],'],
  ['elements on lines of their own', 'imports: [\n    A,\n    B.forRoot([1]), // last\n  ],'],
  ['a comment in an empty list', 'imports: [ /* none yet */ ],'],
  ['no imports', 'controllers: [],'],
  ['a trap in a text', "providers: [{ provide: 'imports: [', useValue: '@Module({ imports: [] })' }],"],
])('%s: the queue is added last, and the rest stays', (_, options) => {
  const { files } = add({ ...onNest11, 'src/app.module.ts': appModule(options) });
  const changed = files['src/app.module.ts'] ?? '';
  const { parseDiagnostics } = ts.createSourceFile('a.ts', changed, ts.ScriptTarget.Latest) as unknown as {
    parseDiagnostics: unknown[];
  };
  expect(parseDiagnostics).toEqual([]);
  const [, before = '', after = ''] =
    /imports: \[([^]*)OrderPlacedModule,\s+QueueModule\.forRoot\(\{[^}]*\}\),[^\n]*\n {2}\]([^]*)/.exec(
      changed,
    ) ?? [];
  const kept = options.replace(/^imports: \[|[\s,]*\],$/g, '').replace(/^\s+/, '');
  const rest = options.startsWith('imports') ? before : after;
  expect(withoutSpace(rest)).toContain(withoutSpace(kept.replace(/,? \/\/ last/, '')));
  expect(changed.includes('// last')).toBe(options.includes('// last'));
});

test.each(['imports,', 'imports: common,', 'imports: [...common].concat(A),'])(
  'a list that is not plain is left to its author: %s',
  (options) => {
    const module = appModule(options);
    const { files, log } = add({ ...onNest11, 'src/app.module.ts': module });
    expect(files['src/app.module.ts']).toBe(module);
    expect(log[0]).toMatch(/are not a plain list\. Add at the end: OrderPlacedModule, QueueModule\.forRoot/);
  },
);

test.each([
  ['A', ' // last\n  '],
  ['A', ', /* last */'],
  ['A.forRoot(`one\n  two`)', ''],
])('%s%s stays as it is, with the queue behind it', (element, rest) => {
  const { files } = add({ ...onNest11, 'src/app.module.ts': appModule(`imports: [${element}${rest}],`) });
  const changed = files['src/app.module.ts'] ?? '';
  expect(changed).toContain(element);
  const list = /imports: (\[[^]*?\n? *\]),?\n/.exec(changed)?.[1] ?? '';
  const expression = ts.createSourceFile('a.ts', `x = ${list}`, ts.ScriptTarget.Latest, true);
  // A comma that became part of a comment leaves the elements as they are.
  expect(expression).toHaveProperty('parseDiagnostics', []);
  const elements: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isArrayLiteralExpression(node)) elements.push(...node.elements.map((one) => one.getText()));
    else node.forEachChild(visit);
  };
  visit(expression);
  expect(elements).toEqual([element, 'OrderPlacedModule', expect.stringContaining('QueueModule.forRoot')]);
});

test.each([
  ['...common, // of the shop\n  ', '...common, // of the shop\n    OrderPlacedModule,\n'],
  ['...common // of the shop\n  ', '...common, // of the shop\n    OrderPlacedModule,\n'],
  ['...common /* all */, /* of them */\n  ', '...common /* all */, /* of them */\n    OrderPlacedModule,\n'],
  ['...common,\n    // more to come\n  ', '...common,\n    OrderPlacedModule,\n'],
])('a comment stays behind what it is about: %j', (rest, expected) => {
  const options = `imports: [\n    A,\n    ${rest}],`;
  const { files } = add({ ...onNest11, 'src/app.module.ts': appModule(options) });
  expect(files['src/app.module.ts']).toContain(`    A,\n    ${expected}`);
});

test('a name that is taken is imported as another one', () => {
  const taken = `import { QueueModule } from './queue/queue.module';\n${appModule('imports: [QueueModule],')}`;
  const { files } = add({ ...onNest11, 'src/app.module.ts': taken });
  const changed = files['src/app.module.ts'] ?? '';
  expect(changed).toContain(`import { QueueModule as TarefaModule } from 'nestjs-tarefa';`);
  expect(changed).toContain('TarefaModule.forRoot({');
});

test.each([
  [
    'has a commented call',
    '  // app.enableShutdownHooks();\n  const app = await NestFactory.create(AppModule);\n',
  ],
  [
    'has no semicolons',
    '  const app = await NestFactory.create(AppModule)\n  for (let i = 0; i < 2; i += 1) run(i)\n',
  ],
  ['has it in several lines', '  const app = await NestFactory.create(\n    AppModule,\n  );\n'],
])('main.ts that %s gets its hooks where the application is created', (_, body) => {
  const source = `async function bootstrap() {\n${body}  await app.listen(3000)\n}\n`;
  const changed = add({ ...onNest11, 'src/main.ts': source }).files['src/main.ts'] ?? '';
  expect(changed).toMatch(/create\([^]*?\);?\n {2}app\.enableShutdownHooks\(\);?\n/);
  expect(changed.replace(/\n {2}app\.enableShutdownHooks\(\);?/, '')).toBe(source);
});

test.each([
  'create<NestExpressApplication>(AppModule)',
  'createApplicationContext(AppModule)',
  'createMicroservice<MicroserviceOptions>(AppModule, {})',
])('an application made by %s gets its hooks', (creation) => {
  const source = `async function bootstrap() {\n  const app = await NestFactory.${creation};\n}\n`;
  const { files, log } = add({ ...onNest11, 'src/main.ts': source });
  expect(files['src/main.ts']).toContain(`${creation};\n  app.enableShutdownHooks();\n`);
  expect(log.join('\n')).not.toContain('which was not found in');
});

test('the configuration of another project is left, and nobody is told to run it', () => {
  const { log } = add({ ...onNest11, 'test/jest-queue.json': '{ "rootDir": "../apps/a/src" }' });
  expect(log.join('\n')).toContain('copy it with "rootDir": "../src"');
  expect(log.join('\n')).not.toContain('Run the test');
});

test('the root module may be elsewhere; without one the command says what to give', () => {
  const { 'src/app.module.ts': module, ...others } = onNest11;
  const { files } = add(
    { ...others, 'apps/shop/src/core/root.module.ts': module },
    {
      sourceRoot: 'apps/shop/src',
      module: 'core/root.module.ts',
      queue: 'shop_queue',
    },
  );
  const changed = files['apps/shop/src/core/root.module.ts'];
  expect(changed).toContain("from '../order-placed/order-placed.module';");
  expect(changed).toContain("queue: 'shop_queue',");
  expect(JSON.parse(files['test/jest-queue.json'] ?? '')).toMatchObject({ rootDir: '../apps/shop/src' });
  expect(() => add(others)).toThrow('root module src/app.module.ts not found: name it with --module');
});

test('every option has a default, so that nothing is asked; the schema and the code name the same', () => {
  const { properties, required } = schema;
  expect(required).toBeUndefined();
  expect(Object.values(properties).filter((one) => !('default' in one) || 'x-prompt' in one)).toEqual([]);
  const defaults = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, one.default]));
  expect(add(onNest11, defaults as NestAddOptions)).toEqual(add(onNest11));
});

test('the Jest configuration of the testing guide is the one that is added, for all tests', () => {
  const [block] = documentAt('docs/guides/testing.md').blocks.filter(
    ({ note }) => note === 'jest.config.json',
  );
  const added = JSON.parse(jestConfig('src')) as object;
  expect(JSON.parse(block?.text ?? '')).toEqual({
    ...added,
    rootDir: 'src',
    testRegex: String.raw`.*\.spec\.ts$`,
  });
});

function appModule(options: string, imports = ''): string {
  return `import { Module } from '@nestjs/common';
${imports}
@Module({
  ${options}
})
export class AppModule {}
`;
}

/** Runs the schematic over files in memory; returns them afterwards, and what it said. */
function add(
  before: Readonly<Record<string, string>>,
  options: NestAddOptions = {},
): { files: Readonly<Record<string, string>>; log: readonly string[] } {
  const files = new Map(Object.entries(before));
  const log: string[] = [];
  const say = (message: string): void => void log.push(message);
  nestAdd(options)(
    {
      exists: (path) => files.has(path),
      read: (path) => (files.has(path) ? Buffer.from(files.get(path) ?? '') : null),
      create: (path, content) => {
        if (files.has(path)) throw new Error(`${path} exists`);
        files.set(path, content);
      },
      overwrite: (path, content) => {
        if (!files.has(path)) throw new Error(`${path} does not exist`);
        files.set(path, content);
      },
    },
    { logger: { info: say, warn: say } },
  );
  return { files: Object.fromEntries(files), log };
}

/** As the settings of `nest new` want it, so that its linter has nothing to say. */
async function expectFormatted(files: Readonly<Record<string, string>>): Promise<void> {
  const sources = Object.entries(files).filter(([path]) => path.endsWith('.ts'));
  const settings = { parser: 'typescript', singleQuote: true, trailingComma: 'all' } as const;
  const formatted = await Promise.all(
    sources.map(async ([name, text]) => [name, await format(text, settings)] as const),
  );
  expect(Object.fromEntries(sources)).toEqual(Object.fromEntries(formatted));
}

function withoutSpace(text: string): string {
  return text.replaceAll(/\s+/g, '');
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, path), 'utf8'));
}
