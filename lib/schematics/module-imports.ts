import type ts from 'typescript';
import { loadCompiler } from './compiler.js';

/** What the root module is to import: a name, where it comes from, and what stands in `imports`. */
export interface ModuleImport {
  readonly name: string;
  readonly from: string;
  readonly expression: string;
}

/**
 * The source of a module with more elements in the `imports` of its `@Module()`, or undefined where that is not a plain
 * list, which only its author can change. Throws when no TypeScript can be loaded.
 */
export function addModuleImports(source: string, added: readonly ModuleImport[]): string | undefined {
  const compiler = loadCompiler();
  const file = compiler.createSourceFile('app.module.ts', source, compiler.ScriptTarget.Latest, true);
  const change = changeOfList(
    compiler,
    file,
    added.map(({ expression }) => expression),
  );
  if (change === undefined) return undefined;
  const { from, to, text } = change;
  // What is imported stands before the class, so its place is still that of the source.
  const withElements = source.slice(0, from) + text + source.slice(to);
  const last = file.statements.findLast((statement) => compiler.isImportDeclaration(statement));
  const place = last?.getEnd() ?? 0;
  const lines = added.map(({ name, from: path }) => `import { ${name} } from '${path}';`).join('\n');
  const separated = last === undefined ? `${lines}\n` : `\n${lines}`;
  return withElements.slice(0, place) + separated + withElements.slice(place);
}

/** Text in the place of a range of the source. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function changeOfList(
  compiler: typeof ts,
  file: ts.SourceFile,
  expressions: readonly string[],
): Change | undefined {
  const options = file.statements
    .filter((statement) => compiler.isClassDeclaration(statement))
    .map((declaration) => moduleOptions(compiler, declaration))
    .find((found) => found !== undefined);
  if (options === undefined) return undefined;
  const property = options.properties.find((one) => one.name?.getText(file) === 'imports');
  if (property === undefined) {
    const place = options.getStart(file) + 1;
    return { from: place, to: place, text: `\n  imports: ${list(expressions, '  ')},` };
  }
  if (!compiler.isPropertyAssignment(property)) return undefined;
  const { initializer } = property;
  if (!compiler.isArrayLiteralExpression(initializer)) return undefined;
  const { line } = file.getLineAndCharacterOfPosition(property.getStart(file));
  const [indent = ''] = /^[ \t]*/.exec(file.text.slice(file.getLineStarts()[line])) ?? [];
  const last = initializer.elements.at(-1);
  const [from, to] = [initializer.getStart(file), initializer.getEnd()];
  const present = file.text.slice(from + 1, to - 1).trim();
  const isOneLine = last && file.getLineAndCharacterOfPosition(last.getStart(file)).line === line;
  // Only what is on one line, without comments, can be put into another shape.
  if (last && !(isOneLine && !/\n|\/[/*]/.test(present))) {
    const { hasTrailingComma, end } = initializer.elements;
    // A comment behind the last element is about that one.
    const comments =
      compiler.getTrailingCommentRanges(file.text, hasTrailingComma ? end : last.getEnd()) ?? [];
    const place = comments.at(-1)?.end ?? end;
    const kept = file.text.slice(last.getEnd(), place);
    const added = expressions.map((expression) => `\n${indented(expression, `${indent}  `)}`).join(',');
    return {
      from: last.getEnd(),
      to: place,
      text: `${hasTrailingComma ? kept : `,${kept}`}${added}${hasTrailingComma ? ',' : ''}`,
    };
  }
  return { from, to, text: list(expressions, indent, last ? `${present.replace(/,$/, '')},` : present) };
}

/** Each on a line of its own, as formatters do it, after what is there already. */
function list(expressions: readonly string[], indent: string, present = ''): string {
  const added = expressions.map((expression) => `${expression},`);
  const lines = [present, ...added].filter((text) => text !== '');
  return `[\n${lines.map((text) => `${indented(text, `${indent}  `)}\n`).join('')}${indent}]`;
}

function indented(text: string, indent: string): string {
  return indent + text.replaceAll('\n', `\n${indent}`);
}

/** The object that stands in `@Module()`. */
function moduleOptions(
  compiler: typeof ts,
  declaration: ts.ClassDeclaration,
): ts.ObjectLiteralExpression | undefined {
  for (const { expression } of compiler.getDecorators(declaration) ?? []) {
    if (!compiler.isCallExpression(expression) || expression.expression.getText() !== 'Module') continue;
    const [options] = expression.arguments;
    if (options && compiler.isObjectLiteralExpression(options)) return options;
  }
  return undefined;
}
