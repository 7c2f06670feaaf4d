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
  const { members, source } = findInterface(file, name);
  return members.map((member) => readField(member, source));
}

/** A field whose type is written out, with the fields of that. */
export interface FieldOfFields extends Pick<Field, 'name' | 'text'> {
  readonly fields: readonly Field[];
}

/** Reads an interface whose fields are objects that are written out in place. */
export function readInterfaceOfFields(file: string, name: string): readonly FieldOfFields[] {
  const { members, source } = findInterface(file, name);
  return members.map((member) => {
    const { type } = member;
    if (!type || !ts.isTypeLiteralNode(type)) throw new Error(`${member.name.getText(source)} is no object`);
    return {
      ...readField(member, source),
      name: member.name.getText(source).replaceAll("'", ''),
      fields: type.members.filter(ts.isPropertySignature).map((one) => readField(one, source)),
    };
  });
}

function findInterface(
  file: string,
  name: string,
): { readonly members: readonly ts.PropertySignature[]; readonly source: ts.SourceFile } {
  const source = ts.createSourceFile(file, readFileSync(pathOf(file), 'utf8'), ts.ScriptTarget.Latest, true);
  const declaration = source.statements.find(
    (one): one is ts.InterfaceDeclaration => ts.isInterfaceDeclaration(one) && one.name.text === name,
  );
  if (!declaration) throw new Error(`${file} declares no interface ${name}`);
  return { members: declaration.members.filter(ts.isPropertySignature), source };
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
