import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { pathOf } from './documents.js';

/** A name that the package exports. */
interface ExportedName {
  readonly name: string;
  /** What its docstring begins with. */
  readonly text: string;
  /** Where it is declared, below `lib`. */
  readonly file: string;
}

const entries = ['index.ts', 'testing/index.ts', 'terminus/index.ts'];

/** The names of the API in their groups, those of `scripts/api-groups.json`. */
export function exportedNames(): ReadonlyMap<string, readonly ExportedName[]> {
  const groups = JSON.parse(readFileSync(pathOf('scripts/api-groups.json'), 'utf8')) as Readonly<
    Record<string, readonly string[]>
  >;
  const places = Object.entries(groups)
    .flatMap(([group, all]) => all.map((place) => ({ group, place })))
    .toSorted((one, other) => other.place.length - one.place.length);
  const found = new Map<string, ExportedName[]>(Object.keys(groups).map((group) => [group, []]));
  const all = entries.flatMap((entry) =>
    namesIn(entry, 'exports').map(({ name, from }) => declared(name, from)),
  );
  for (const one of all) {
    const group = places.find(({ place }) => one.file.startsWith(place))?.group;
    if (group === undefined)
      throw new Error(`scripts/api-groups.json has no place for ${one.name} (${one.file})`);
    if (one.text === '') throw new Error(`${one.file} does not say what ${one.name} is`);
    found.get(group)?.push(one);
  }
  return found;
}

/** Names that a file exports, or has from other files, and where these are. */
function namesIn(
  file: string,
  what: 'exports' | 'all' = 'all',
): readonly { readonly name: string; readonly from: string }[] {
  return sourceOf(file).statements.flatMap((one) => {
    if (ts.isExportDeclaration(one)) return namesOf(file, one.exportClause, one.moduleSpecifier);
    if (ts.isImportDeclaration(one)) {
      return what === 'all' ? namesOf(file, one.importClause?.namedBindings, one.moduleSpecifier) : [];
    }
    const isExported =
      ts.canHaveModifiers(one) && one.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    const name = (one as Partial<ts.ClassDeclaration>).name?.text;
    return isExported && name !== undefined ? [{ name, from: file }] : [];
  });
}

function namesOf(
  file: string,
  clause: ts.NamedExportBindings | ts.NamedImportBindings | undefined,
  from: ts.Expression | undefined,
): readonly { readonly name: string; readonly from: string }[] {
  if (!clause || !('elements' in clause) || !from || !ts.isStringLiteral(from)) return [];
  if (!from.text.startsWith('.')) return [];
  const place = join(dirname(file), from.text.replace(/\.js$/, '.ts'));
  return clause.elements.map(({ name }) => ({ name: name.text, from: place }));
}

/** The declaration of a name, wherever the file has it from. */
function declared(name: string, file: string): ExportedName {
  const source = sourceOf(file);
  const own = source.statements.find((one) =>
    ts.isVariableStatement(one)
      ? one.declarationList.declarations.some((each) => each.name.getText(source) === name)
      : (one as ts.ClassDeclaration).name?.getText(source) === name,
  );
  if (own) return { name, file, text: firstSentence(own) };
  const next = namesIn(file).find((one) => one.name === name);
  if (!next) throw new Error(`lib/${file} declares no ${name}`);
  return declared(name, next.from);
}

function firstSentence(node: ts.Node): string {
  const comment = ts
    .getJSDocCommentsAndTags(node)
    .map((one) => ts.getTextOfJSDocComment(one.comment) ?? '')
    .join(' ')
    .replaceAll(/\{@link ([\w.]+)\}/g, '`$1`')
    .replaceAll(/\s+/g, ' ');
  return /^.*?[.:](?= |$)/.exec(comment)?.[0].replace(/:$/, '.') ?? comment;
}

function sourceOf(file: string): ts.SourceFile {
  const path = pathOf(`lib/${file}`);
  if (!existsSync(path)) throw new Error(`there is no ${path}`);
  return ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
}
