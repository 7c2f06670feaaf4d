import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thisMachine } from '../../lib/embedded/machine.js';
import { isTrustedFolder } from '../../lib/embedded/trusted-folder.js';
import { makeTemporaryFolder } from '../support/folders.js';

test('a folder that others could have filled is not trusted', async () => {
  const parent = await makeTemporaryFolder();
  const own = join(parent, 'own');
  expect(await isTrustedFolder(thisMachine, own)).toBe(true);
  await chmod(own, 0o777);
  expect(await isTrustedFolder(thisMachine, own)).toBe(false);
  await chmod(own, 0o755);
  expect(await isTrustedFolder({ ...thisMachine, uid: (thisMachine.uid ?? 0) + 1 }, own)).toBe(false);
  await chmod(parent, 0o777);
  expect(await isTrustedFolder(thisMachine, own)).toBe(false);
  await chmod(parent, 0o1777);
  expect(await isTrustedFolder(thisMachine, own)).toBe(true);
  await writeFile(join(parent, 'file'), '');
  expect(await isTrustedFolder(thisMachine, join(parent, 'file'))).toBe(false);
});
