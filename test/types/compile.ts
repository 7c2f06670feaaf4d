import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { pathOf } from '../docs/documents.js';

const sources = new Map<string, ts.SourceFile | undefined>();

/** The settings of an application, strict in all that concerns it, with the library by its name. */
const options: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts', 'lib.es2024.string.d.ts'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  experimentalDecorators: true,
  skipLibCheck: true,
  noEmit: true,
  paths: {
    'nestjs-tarefa': [pathOf('lib/index.ts')],
    'nestjs-tarefa/testing': [pathOf('lib/testing/index.ts')],
  },
};

/** A program of one file, whose text stands in `<name>.txt`: what it declares is for itself alone. */
export function compileAlone(name: string): { readonly program: ts.Program; readonly source: ts.SourceFile } {
  const path = join(pathOf('test/types'), name);
  const text = readFileSync(`${path}.txt`, 'utf8').replaceAll('@ts-expect-error:', 'refused:');
  const disk = ts.createCompilerHost(options);
  const own = ts.createSourceFile(path, text, {
    languageVersion: ts.ScriptTarget.ES2023,
    impliedNodeFormat: ts.ModuleKind.ESNext,
  });
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (file) => file === path || disk.fileExists(file),
    readFile: (file) => (file === path ? text : disk.readFile(file)),
    // Both programs have the same library: it is read once.
    getSourceFile: (file, target, ...rest) => {
      if (file === path) return own;
      if (!sources.has(file)) sources.set(file, disk.getSourceFile(file, target, ...rest));
      return sources.get(file);
    },
  };
  const program = ts.createProgram([path], options, host);
  const source = program.getSourceFile(path);
  if (!source) throw new Error(`${path} is not in its own program`);
  return { program, source };
}

/** What the compiler refuses of a file, and what the file says that it should: each by its line. */
export function refusals({ program, source }: ReturnType<typeof compileAlone>): {
  readonly found: ReadonlyMap<number, string>;
  readonly expected: ReadonlyMap<number, string>;
} {
  const found = new Map<number, string>();
  for (const { start = 0, messageText } of program.getSemanticDiagnostics(source)) {
    const { line } = source.getLineAndCharacterOfPosition(start);
    found.set(line + 1, `${found.get(line + 1) ?? ''}${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
  }
  const marks = source.text.split('\n').flatMap((line, index) => {
    const [, message] = /^\s*\/\/ refused: (.+)$/.exec(line) ?? [];
    return message === undefined ? [] : [[index + 2, message] as const];
  });
  return { found, expected: new Map(marks) };
}
