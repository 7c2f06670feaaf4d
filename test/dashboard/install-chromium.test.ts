import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { makeTemporaryFolder } from '../support/folders.js';

const scripts = resolve(import.meta.dirname, '../../scripts');
/** What a Chromium shows of the page that it is tried with. */
const works = "echo '<html>works: 42</html>'";
/** Programs that would install. */
const installers = { dpkg: 'exit 0', 'apt-get': 'exit 0' };

describe('CHROMIUM_PATH', () => {
  it.each([
    ['is missing', undefined, 'there is no such program'],
    ['fails', 'echo "no display" >&2; exit 3', 'it ended with code 3 and said: no display'],
    ['is something else', 'exit 0', 'it ended well, but showed no page'],
  ])('that %s is refused by its name, and nothing else is taken or installed', async (_, script, why) => {
    const machine = await makeMachine({ ...installers, chromium: works });
    const named = join(machine.folder, 'named');
    if (script !== undefined) await writeProgram(named, script);
    const { code, stdout, stderr } = await machine.run({ CHROMIUM_PATH: named });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`CHROMIUM_PATH is ${named}, and that is no Chromium that works: ${why}`);
    expect(await machine.calls()).toEqual([]);
  });

  it('that works is taken before any other', async () => {
    const machine = await makeMachine({ ...installers, chromium: works });
    const named = join(machine.folder, 'named');
    await writeProgram(named, works);
    expect(await machine.run({ CHROMIUM_PATH: named })).toEqual({
      code: 0,
      stdout: `${named}\n`,
      stderr: '',
    });
  });
});

it('takes the first that works in PATH, and installs nothing', async () => {
  const machine = await makeMachine({
    chromium: 'echo "needs the snap" >&2; exit 1',
    'google-chrome': works,
    ...installers,
  });
  const { code, stdout } = await machine.run();
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${join(machine.path, 'google-chrome')}\n` });
  expect(await machine.calls()).toEqual([]);
});

describe('installing for all', () => {
  const sudo = '[ "$2" = true ] || { shift; exec "$@"; }';

  it('fetches the lists of packages where they are missing, and installs without questions', async () => {
    const machine = await makeMachine({
      sudo,
      dpkg: installers.dpkg,
      'apt-get': `
        case "$*" in
          *update) echo > "$PLACE/lists" ;;
          *) [ -e "$PLACE/lists" ] && [ "$DEBIAN_FRONTEND" = noninteractive ] || exit 100
             echo '#!/bin/sh' > "$PATH/chromium"; echo "${works}" >> "$PATH/chromium"; /bin/chmod +x "$PATH/chromium" ;;
        esac`,
    });
    const { code, stdout } = await machine.run();
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${join(machine.path, 'chromium')}\n` });
    expect(await machine.calls()).toEqual(
      [/ install -y .*chromium/, / update$/, / install -y /].map((call) => expect.stringMatching(call)),
    );
  });

  it('of two at once is done once', async () => {
    const machine = await makeMachine({
      sudo,
      dpkg: installers.dpkg,
      'apt-get': `
        /bin/sleep 1
        echo '#!/bin/sh' > "$PATH/.new"; echo "${works}" >> "$PATH/.new"; /bin/chmod +x "$PATH/.new"
        /bin/mv "$PATH/.new" "$PATH/chromium"`,
    });
    const [one, other] = await Promise.all([machine.run(), machine.run()]);
    expect([one.code, other.code]).toEqual([0, 0]);
    expect(one.stdout + other.stdout).toBe(`${join(machine.path, 'chromium')}\n`.repeat(2));
    expect(await machine.calls()).toHaveLength(1);
    expect(await readdir(machine.temporary)).toEqual([]);
  });
});

it('says what was tried, what failed and what to do where nothing can be installed', async () => {
  const machine = await makeMachine({
    chromium: 'echo "libnss3.so: cannot open" >&2; exit 127',
    dpkg: installers.dpkg,
    'apt-get': 'echo "E: Unable to locate package chromium" >&2; exit 100',
  });
  const { code, stdout, stderr } = await machine.run();
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(
    `${machine.path}/chromium: it ended with code 127 and said: libnss3.so: cannot open\n`,
  );
  expect(stderr).toContain('it ended with code 100 and said: E: Unable to locate package chromium');
  expect(stderr).toContain('set CHROMIUM_PATH to the program of one');
  const bare = await (await makeMachine({})).run();
  expect(bare.code).toBe(1);
  expect(bare.stderr).toContain('apt-get and dpkg are not there');
});

describe('unpacking for one user', () => {
  const aptGet = `
    case "$*" in
      *" -s install "*) echo 'Inst libfoo1 [1.0] (1.1 Debian:12/stable [amd64])'
                        echo 'Inst chromium (150-1~deb12u1 Debian-Security:12/stable-security [amd64])' ;;
      *" download "*) echo > libfoo1.deb; echo > chromium.deb ;;
    esac`;
  const dpkg = `
    case "$2" in
      */chromium.deb) /bin/mkdir -p "$3/usr/lib/chromium" "$3/usr/lib/x86_64-linux-gnu"
        /bin/cat > "$3/usr/lib/chromium/chromium" <<'END'
#!/bin/sh
case "$LD_LIBRARY_PATH" in */usr/lib/x86_64-linux-gnu:*) [ -e "$FONTCONFIG_FILE" ] && ${works} ;; esac
END
        /bin/chmod +x "$3/usr/lib/chromium/chromium" ;;
    esac`;

  it('fetches Chromium and what it lacks, in the versions that apt would install, and is used from then on', async () => {
    const machine = await makeMachine({ dpkg, 'apt-get': aptGet });
    const unpacked = join(machine.cache, 'tarefa-chromium/chromium/chromium');
    expect(await machine.unpack()).toMatchObject({ code: 0, stdout: `${unpacked}\n` });
    const calls = await machine.calls();
    expect(calls[1]).toMatch(/ download libfoo1=1\.1 chromium=150-1~deb12u1$/);
    expect(await readdir(join(machine.cache, 'tarefa-chromium'))).toEqual(['chromium']);
    expect(await machine.run()).toEqual({ code: 0, stdout: `${unpacked}\n`, stderr: '' });
    expect(await machine.calls()).toEqual(calls);
  });

  it('fetches lists of its own where the machine’s do not do', async () => {
    const machine = await makeMachine({
      dpkg,
      'apt-get': `case "$*" in *Dir::State::lists=*) ;; *) echo "E: 404" >&2; exit 100 ;; esac\n${aptGet}`,
    });
    expect(await machine.unpack()).toMatchObject({ code: 0 });
    expect((await machine.calls())[1]).toMatch(/Dir::State::lists=\S+ -o Dir::Cache=\S+ update$/);
    expect(await readdir(join(machine.cache, 'tarefa-chromium/chromium'))).not.toContain('lists');
  });

  it('that fails half-way leaves nothing that could be taken for a whole one', async () => {
    const machine = await makeMachine({
      'apt-get': aptGet,
      dpkg: `${dpkg}\ncase "$2" in */lib*) exit 2 ;; esac`,
    });
    await mkdir(join(machine.cache, 'tarefa-chromium/.stage-1/root'), { recursive: true });
    const { code, stderr } = await machine.unpack();
    expect(code).toBe(1);
    expect(stderr).toMatch(/dpkg -x \S+libfoo1\.deb \S+: it ended with code 2/);
    expect(await readdir(join(machine.cache, 'tarefa-chromium'))).toEqual([]);
  });

  it('does not take a copy that another user could have put there', async () => {
    const machine = await makeMachine({ dpkg, 'apt-get': aptGet });
    await machine.unpack();
    await chmod(join(machine.cache, 'tarefa-chromium'), 0o777);
    await rm(join(machine.path, 'apt-get'));
    expect(await machine.run()).toMatchObject({ code: 1, stdout: '' });
  });
});

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Machine {
  readonly folder: string;
  /** The only folder of PATH. */
  readonly path: string;
  readonly cache: string;
  readonly temporary: string;
  /** How apt-get was called. */
  readonly calls: () => Promise<readonly string[]>;
  /** The script as it is run. */
  readonly run: (env?: Readonly<Record<string, string>>) => Promise<Outcome>;
  /** Only its way for users without rights, which root never goes. */
  readonly unpack: () => Promise<Outcome>;
}

/** A machine with these programs (shell scripts) and no others. */
async function makeMachine(programs: Readonly<Record<string, string>>): Promise<Machine> {
  const folder = await makeTemporaryFolder();
  const [path, cache, temporary] = ['path', 'cache', 'tmp'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await Promise.all([path, cache, temporary].map((name) => mkdir(name)));
  // The way from sudo to apt-get leads through it.
  await symlink('/usr/bin/env', join(path, 'env'));
  for (const [name, script] of Object.entries(programs)) {
    const record = name === 'apt-get' ? `echo "$*" >> '${folder}/calls'\n` : '';
    await writeProgram(join(path, name), record + script);
  }
  const env = {
    PATH: path,
    HOME: join(folder, 'home'),
    XDG_CACHE_HOME: cache,
    TMPDIR: temporary,
    PLACE: folder,
  };
  const node = (args: readonly string[], more = {}): Promise<Outcome> =>
    new Promise((settle) => {
      execFile(process.execPath, args, { env: { ...env, ...more } }, (error, stdout, stderr) => {
        settle({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });
  const unpacker = pathToFileURL(join(scripts, 'unpack-chromium.mjs')).href;
  return {
    folder,
    path,
    cache,
    temporary,
    calls: async () => {
      const text = await readFile(join(folder, 'calls'), 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line !== '');
    },
    run: (more) => node([join(scripts, 'install-chromium.mjs')], more),
    unpack: () =>
      node([
        '--input-type=module',
        '--eval',
        `import { unpackChromium } from '${unpacker}'; console.log(await unpackChromium(['chromium'], ['-q']));`,
      ]),
  };
}

async function writeProgram(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}
