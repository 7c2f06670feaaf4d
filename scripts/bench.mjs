// Compiles the library with its benchmark and runs it: npm run bench -- --quick --scenario drain. With `harness` as its first
// argument it runs the scenarios of the public harness: npm run bench:harness -- --quick; with `bells`, what bells cost and gain;
// with `mysql`, the queue on MariaDB.
import { spawn, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const compiled = spawnSync(process.execPath, [tsc, '-p', 'bench/tsconfig.json'], { stdio: 'inherit' });
if (compiled.status !== 0) process.exit(compiled.status ?? 1);
const page = spawnSync(process.execPath, ['scripts/build-page.mjs', 'dist/lib'], { stdio: 'inherit' });
if (page.status !== 0) process.exit(page.status ?? 1);

const [first, ...rest] = process.argv.slice(2);
const program = ['harness', 'bells', 'mysql'].includes(first)
  ? [`dist/bench/${first}/main.js`, ...rest]
  : ['dist/bench/main.js', ...process.argv.slice(2)];
const run = spawn(process.execPath, ['--enable-source-maps', ...program], { stdio: 'inherit' });
// Ctrl-C reaches the benchmark as well, which stops its servers; this waits for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => (signal === 'SIGINT' ? undefined : run.kill(signal)));
}
run.once('exit', (code) => process.exit(code ?? 1));
