import { join } from 'node:path';
import ts from 'typescript';
import { pathOf, type CodeBlock } from './documents.js';

const folder = pathOf('test/docs/blocks');

/**
 * Compiles TypeScript blocks in one program, with the compiler and the settings of this
 * repository, and answers what is wrong with them: `docs/guides/handlers.md:23: …`.
 *
 * Each block is a module of its own; one that has the name of a file is found by the others of its document. The one
 * marked `prelude` declares the names that the others take for granted.
 */
export function checkBlocks(blocks: readonly CodeBlock[]): string[] {
  const files = new Map(blocks.map((block, index) => [fileOf(block, index), block]));
  const { options } = readSettings();
  const disk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (name) => files.has(name) || disk.fileExists(name),
    // Folders of documents hold nothing but their blocks.
    directoryExists: (name) => name.startsWith(folder) || disk.directoryExists?.(name) === true,
    readFile: (name) => sourceOf(files.get(name)) ?? disk.readFile(name),
    getSourceFile: (name, target, ...rest) => {
      const source = sourceOf(files.get(name));
      return source === undefined
        ? disk.getSourceFile(name, target, ...rest)
        : ts.createSourceFile(name, source, target);
    },
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files].flatMap(([name, block]) => {
    const source = program.getSourceFile(name);
    return ts
      .getPreEmitDiagnostics(program, source)
      .filter(({ file }) => file === undefined || file === source)
      .map((diagnostic) => describe(diagnostic, block));
  });
}

function fileOf({ place, note }: CodeBlock, index: number): string {
  const document = place.replace(/:\d+$/, '').replaceAll(/\W/g, '-');
  return join(folder, document, note.endsWith('.ts') ? note : `block-${index}.ts`);
}

function readSettings(): { options: ts.CompilerOptions } {
  const { config } = ts.readConfigFile(pathOf('tsconfig.json'), (name) => ts.sys.readFile(name)) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, pathOf('.'));
  return {
    options: {
      ...options,
      paths: {
        'nestjs-tarefa': [pathOf('lib/index.ts')],
        'nestjs-tarefa/*': [pathOf('lib/*/index.ts')],
      },
      noEmit: true,
    },
  };
}

function sourceOf(block: CodeBlock | undefined): string | undefined {
  if (block === undefined) return undefined;
  return block.note === 'prelude' ? asGlobals(block.text) : `${block.text}\nexport {};`;
}

/** Makes declarations of a module global; the number of lines before them stays. */
function asGlobals(text: string): string {
  const lines = text.split('\n');
  const last = lines.findLastIndex((line) => line.startsWith('import '));
  const imports = lines.slice(0, last + 1);
  const declarations = lines.slice(last + 1).map((line) => line.replace(/^declare /, ''));
  return `${imports.join('\n')} declare global {\n${declarations.join('\n')}\n}`;
}

function describe({ file, start, messageText }: ts.Diagnostic, { place }: CodeBlock): string {
  const [path, line] = place.split(':');
  const offset = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line : 0;
  return `${path}:${Number(line) + 1 + offset}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
}
