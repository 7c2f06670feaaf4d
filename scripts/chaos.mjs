// Compiles the library with its chaos run and starts it: npm run chaos -- --minutes 10 --seed 1
import { spawn, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const compiled = spawnSync(
  process.execPath,
  [tsc, '-p', 'test/support/children/tsconfig.json', '--outDir', 'dist/chaos', '--noCheck'],
  {
    stdio: 'inherit',
  },
);
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

const args = [
  '--enable-source-maps',
  'dist/chaos/test/support/children/chaos-run.js',
  ...process.argv.slice(2),
];
const run = spawn(process.execPath, args, { stdio: 'inherit' });
// Ctrl-C reaches the run as well, which takes everything down; this waits for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => (signal === 'SIGINT' ? undefined : run.kill(signal)));
}
run.once('exit', (code) => process.exit(code ?? 1));
