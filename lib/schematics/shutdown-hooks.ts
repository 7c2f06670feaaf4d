import type ts from 'typescript';
import { loadCompiler } from './compiler.js';

/**
 * The source of `main.ts` with the call that lets a worker finish what it has begun; the source itself where that call is,
 * and undefined where the application is created in a way that this does not know.
 */
export function addShutdownHooks(source: string): string | undefined {
  const compiler = loadCompiler();
  const file = compiler.createSourceFile('main.ts', source, compiler.ScriptTarget.Latest, true);
  const nodes = descendants(file);
  if (
    nodes.some(
      (node) => compiler.isPropertyAccessExpression(node) && node.name.text === 'enableShutdownHooks',
    )
  )
    return source;
  for (const node of nodes) {
    if (!compiler.isVariableStatement(node)) continue;
    const [declaration] = node.declarationList.declarations;
    if (!declaration?.initializer || !compiler.isIdentifier(declaration.name)) continue;
    if (!/^await NestFactory\s*\.create/.test(declaration.initializer.getText(file))) continue;
    const lineStart = source.lastIndexOf('\n', node.getStart(file)) + 1;
    const [indent = ''] = /^[ \t]*/.exec(source.slice(lineStart)) ?? [];
    const end = node.getEnd();
    const semicolon = source[end - 1] === ';' ? ';' : '';
    const call = `\n${indent}${declaration.name.text}.enableShutdownHooks()${semicolon}`;
    return source.slice(0, end) + call + source.slice(end);
  }
  return undefined;
}

function descendants(node: ts.Node): ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (one: ts.Node): void => {
    found.push(one);
    one.forEachChild(visit);
  };
  visit(node);
  return found;
}
