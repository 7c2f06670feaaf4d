import { createRequire } from 'node:module';
import { join } from 'node:path';
import type ts from 'typescript';

/** @internal TypeScript as the application has it, or the command that runs this: its types are not part of this package. */
export function loadCompiler(): typeof ts {
  for (const place of [join(process.cwd(), 'package.json'), process.argv[1] ?? process.cwd()]) {
    try {
      const compiler = createRequire(place)('typescript') as Partial<typeof ts>;
      if (typeof compiler.createSourceFile === 'function') return compiler as typeof ts;
    } catch {
      // It is not there: the next place may have it.
    }
  }
  throw new Error(
    'TypeScript, which reads the application, was not found: npm install --save-dev typescript',
  );
}
