// Removes build folders: node scripts/clean.mjs DIR…
import { rmSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// What a build or a test run makes, and nothing that anybody wrote.
const removable = ['dist', 'coverage', ['node_modules', '.cache'].join(sep)];

for (const folder of process.argv.slice(2)) {
  const path = relative(root, resolve(root, folder));
  if (!removable.some((name) => path === name || path.startsWith(name + sep))) {
    process.stderr.write(`clean.mjs removes only what is in ${removable.join(', ')}, not ${folder}\n`);
    process.exit(1);
  }
  rmSync(resolve(root, path), { recursive: true, force: true });
}
