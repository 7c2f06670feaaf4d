import { describe, expect, test } from 'vitest';
import ts from 'typescript';
import { compileAlone, refusals } from './compile.js';

describe.each(['listed.ts', 'strict.ts'])('the types that %s uses', (name) => {
  const compiled = compileAlone(name);

  test('refuse what is marked, in words that say why, and nothing else', () => {
    const { found, expected } = refusals(compiled);
    expect(expected.size).toBeGreaterThan(5);
    const unexpected = [...found].filter(([line]) => !expected.has(line));
    expect(unexpected).toEqual([]);
    for (const [line, message] of expected) {
      expect(`${name}:${line}: ${found.get(line) ?? 'compiles'}`).toContain(message);
    }
  }, 120_000);

  if (name !== 'listed.ts') return;

  test('whatever may be left out of what the library is given may be undefined', () => {
    const { program } = compiled;
    const checker = program.getTypeChecker();
    const entry = program.getSourceFiles().find(({ fileName }) => fileName.endsWith('/lib/index.ts'));
    const own = program.getSourceFiles().filter(({ fileName }) => /\/lib\/.*(?<!\.d)\.ts$/.test(fileName));
    const exported = new Set(
      checker
        .getExportsOfModule(checker.getSymbolAtLocation(entry as ts.Node) as ts.Symbol)
        .flatMap(
          (one) =>
            (one.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(one) : one).declarations ?? [],
        ),
    );
    const refusing: string[] = [];
    const look = (node: ts.Node): void => {
      if (ts.isBlock(node)) return;
      if (
        (ts.isPropertySignature(node) || ts.isPropertyDeclaration(node)) &&
        node.questionToken &&
        node.type
      ) {
        const { flags, types } = checker.getTypeFromTypeNode(node.type) as ts.UnionType;
        const takes = flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any | ts.TypeFlags.Undefined);
        if (!takes && !types?.some((one) => one.flags & ts.TypeFlags.Undefined)) {
          refusing.push(`${node.getSourceFile().fileName.split('/lib/')[1]}: ${node.getText()}`);
        }
      }
      ts.forEachChild(node, look);
    };
    for (const declaration of exported) {
      if (own.includes(declaration.getSourceFile())) look(declaration);
    }
    expect(exported.size).toBeGreaterThan(80);
    expect(refusing).toEqual([]);
  });
});
