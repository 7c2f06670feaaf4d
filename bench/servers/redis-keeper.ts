// Runs redis-server for as long as the benchmark lives, however that ends.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';

const [program = '', folder = '', ...args] = process.argv.slice(2);
const redis = spawn(program, ['--dir', folder, ...args], { stdio: 'ignore' });
redis.once('spawn', () => process.send?.(redis.pid));
redis.once('exit', () => {
  rmSync(folder, { recursive: true, force: true });
  process.exit();
});
process.once('disconnect', () => redis.kill('SIGKILL'));
// Ctrl-C reaches all processes of the terminal; the benchmark decides when this one ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
