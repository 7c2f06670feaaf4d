// `npm run check:package`: packs the library once, as it would be published, and has the tarball looked at.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'tarefa-pack-'));
try {
  const npm = process.env.npm_execpath;
  const pack = ['pack', '--json', '--pack-destination', folder];
  const answer = npm
    ? execFileSync(process.execPath, [npm, ...pack], { encoding: 'utf8' })
    : execFileSync('npm', pack, { encoding: 'utf8' });
  // What the build prints comes first.
  const [{ filename }] = JSON.parse(answer.slice(answer.indexOf('[\n')));
  const tarball = join(folder, filename);
  execFileSync('publint', [tarball, '--strict'], { stdio: 'inherit' });
  execFileSync('attw', [tarball, '--profile', 'esm-only'], { stdio: 'inherit' });
} catch (error) {
  process.exitCode = error.status || 1;
  if (error.status === undefined) throw error;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
