import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { pathOf } from './documents.js';

/** A field of an interface, as its declaration and its comment say. */
export interface Field {
  readonly name: string;
  /** As it is written, without `undefined`. */
  readonly type: string;
  /** The comment without what is taken out of it below. */
  readonly text: string;
  /** What stands behind `Default` at the end of the comment. */
  readonly fallback: string | undefined;
  /** Environment variables named in the comment. */
  readonly variables: readonly string[];
}

/** Reads an interface of the library from its source. */
export function readInterface(file: string, name: string): readonly Field[] {
  const source = ts.createSourceFile(file, readFileSync(pathOf(file), 'utf8'), ts.ScriptTarget.Latest, true);
  const declaration = source.statements.find(
    (one): one is ts.InterfaceDeclaration => ts.isInterfaceDeclaration(one) && one.name.text === name,
  );
  if (!declaration) throw new Error(`${file} declares no interface ${name}`);
  return declaration.members.filter(ts.isPropertySignature).map((member) => readField(member, source));
}

function readField(member: ts.PropertySignature, source: ts.SourceFile): Field {
  const comment = ts
    .getJSDocCommentsAndTags(member)
    .map((one) => ts.getTextOfJSDocComment(one.comment) ?? '')
    .join(' ')
    .replaceAll(/\{@link (\w+)\}/g, '`$1`')
    .replaceAll(/\s+/g, ' ');
  const variables = / ?Variables?:? ((?:`[A-Z_]+`(?:, | \(`TRUE`\))?)+)\./.exec(comment);
  const fallback = / ?Default:? ((?:`[^`]*`|[^`])+)\.$/.exec(comment);
  return {
    name: member.name.getText(source),
    type: (member.type?.getText(source) ?? '').replaceAll(/\s+/g, ' ').replace(/ \| undefined$/, ''),
    text: comment.replace(fallback?.[0] ?? '', '').replace(variables?.[0] ?? '', ''),
    fallback: fallback?.[1],
    variables: [...(variables?.[1]?.matchAll(/`([A-Z_]{3,})`/g) ?? [])]
      .map(([, variable = '']) => variable)
      .filter((variable) => variable !== 'TRUE'),
  };
}
