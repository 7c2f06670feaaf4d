import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeTemporaryFolder } from './folders.js';

const script = resolve(import.meta.dirname, '../../scripts/install-mysql.mjs');

it('unpacks what it has fetched, once', async () => {
  const machine = await makeMachine({ version: '10.11.19' });
  const place = join(machine.cache, 'tarefa-mariadb/mariadb');
  expect(await machine.run(['mariadb'])).toEqual({
    code: 0,
    stdout: `${place}\n`,
    stderr: expect.stringContaining('Unpacking'),
  });
  expect(await machine.calls()).toEqual([
    expect.stringMatching(/ -s install --no-install-recommends mariadb-server-core$/),
    expect.stringMatching(/ download libaio1=0\.3 mariadb-server-core=1:10\.11$/),
  ]);
  expect(await machine.run(['mariadb'])).toEqual({ code: 0, stdout: `${place}\n`, stderr: '' });
  expect(await machine.run(['mariadb', '--optional'])).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await machine.calls()).toHaveLength(2);
});

it('fetches lists of its own where the machine’s do not do', async () => {
  const machine = await makeMachine({ version: '10.11.19', hasLists: false });
  expect(await machine.run(['mariadb'])).toMatchObject({ code: 0 });
  expect((await machine.calls())[1]).toMatch(/Dir::State::lists=\S+ -o Dir::Cache=\S+ update$/);
  const left = await readdir(join(machine.cache, 'tarefa-mariadb/mariadb'));
  expect(left.toSorted()).toEqual(['root', 'server']);
});

it('takes MySQL from the newest suite of the place where this machine’s packages are from', async () => {
  const machine = await makeMachine({ version: '9.7.4' });
  expect(await machine.run(['mysql'])).toMatchObject({ code: 0 });
  expect(await readFile(join(machine.folder, 'sources'), 'utf8')).toMatch(
    /^deb (\[signed-by=\S+\] )?http:\/\/localhost\/debian sid main\n$/,
  );
  expect((await machine.calls()).at(-1)).toMatch(/ download mysql-server-core=9\.7 libc6=2\.42$/);
});

describe('what cannot be had', () => {
  it('is told with what to do instead, and leaves nothing that looks whole', async () => {
    const machine = await makeMachine({ version: '10.6.18' });
    const { code, stderr } = await machine.run(['mariadb']);
    expect(code).toBe(1);
    expect(stderr).toContain('it is MariaDB 10.6.18, and 10.8.0 is the oldest that will do');
    expect(stderr).toContain('set MARIADB_URL to its address');
    expect(await readdir(join(machine.cache, 'tarefa-mariadb'))).toEqual([]);
  });

  it('is no failure where it is optional', async () => {
    const machine = await makeMachine({ version: '10.6.18' });
    expect(await machine.run(['mariadb', '--optional'])).toMatchObject({ code: 0, stdout: '' });
  });

  it('is not looked for where a server is named', async () => {
    const machine = await makeMachine({ version: '10.6.18' });
    const env = { MARIADB_URL: 'mysql://127.0.0.1' };
    expect(await machine.run(['mariadb', '--optional'], env)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await machine.calls()).toEqual([]);
  });

  it('is nothing but MariaDB and MySQL', async () => {
    const machine = await makeMachine({ version: '10.11.19' });
    expect(await machine.run(['postgres'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Usage: /),
    });
  });
});

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Machine {
  readonly folder: string;
  readonly cache: string;
  /** What apt-get was called with. */
  readonly calls: () => Promise<readonly string[]>;
  readonly run: (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Outcome>;
}

/** A machine whose packages hold a server that says it is of this version. */
async function makeMachine({
  version,
  hasLists = true,
}: {
  readonly version: string;
  readonly hasLists?: boolean;
}): Promise<Machine> {
  const folder = await makeTemporaryFolder();
  const [path, cache, temporary] = ['path', 'cache', 'tmp'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await Promise.all([path, cache, temporary].map((name) => mkdir(name)));
  await symlink('/usr/bin/dirname', join(path, 'dirname'));
  const programs = {
    'apt-get': `echo "$*" >> '${folder}/calls'
      for word in "$@"; do case $word in Dir::Etc::sourcelist=*) /bin/cp "\${word#*=}" '${folder}/sources' ;; esac; done
      case "$*" in
        *--print-uris*) echo "'http://localhost/debian-security/dists/any/InRelease' a 0"
          echo "'http://localhost/debian/dists/any/InRelease' b 0" ;;
        *" update") : > '${folder}/lists' ;;
        *mariadb-server-core) [ -e '${folder}/lists' ] || exit 100
          echo 'Inst libaio1 (0.3 Debian:12 [amd64])'; echo 'Inst mariadb-server-core (1:10.11 Debian:12 [amd64])' ;;
        *mysql-server-core) echo 'Inst perl-base (5 Debian:sid [amd64])'
          echo 'Inst mysql-server-core (9.7 Debian:sid [amd64])'; echo 'Inst libc6 (2.42 Debian:sid [amd64])' ;;
        *" download "*) echo > server.deb ;;
      esac`,
    dpkg: `/bin/mkdir -p "$3/usr/sbin" "$3/usr/lib64"
      for name in usr/sbin/mariadbd usr/sbin/mysqld usr/lib64/ld-linux-x86-64.so.2; do
        printf '#!/bin/sh\\necho "mysqld  Ver ${version} for Linux"\\n' > "$3/$name"; /bin/chmod +x "$3/$name"
      done`,
  };
  if (hasLists) await writeFile(join(folder, 'lists'), '');
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(join(path, name), `#!/bin/sh\n${text}\n`);
    await chmod(join(path, name), 0o755);
  }
  const own = { PATH: path, HOME: join(folder, 'home'), XDG_CACHE_HOME: cache, TMPDIR: temporary };
  return {
    folder,
    cache,
    calls: async () => {
      const text = await readFile(join(folder, 'calls'), 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line !== '');
    },
    run: (args, env = {}) =>
      new Promise((settle) => {
        execFile(
          process.execPath,
          [script, ...args],
          { env: { ...own, ...env } },
          (error, stdout, stderr) => {
            settle({ code: error === null ? 0 : Number(error.code), stdout, stderr });
          },
        );
      }),
  };
}
