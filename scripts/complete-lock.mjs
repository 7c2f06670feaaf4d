// Completes package-lock.json: npm leaves packages for other platforms out of it when the registry in use does not
// have them, and `npm ci` then refuses the lock on every platform. Run by `npm run lock`.
import { readFile, writeFile } from 'node:fs/promises';

const systems = [
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'aix',
  'win32',
];
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64'];

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(await readFile(file, 'utf8'));

for (const [path, { optionalDependencies = {} }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const isThere = [`${path}/node_modules/${name}`, `node_modules/${name}`].some(
      (place) => lock.packages[place],
    );
    if (!isThere && /^\d/.test(version)) lock.packages[`node_modules/${name}`] = entry(name, version);
  }
}

const { '': root, ...packages } = lock.packages;
const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
lock.packages = { '': root, ...Object.fromEntries(sorted) };
await writeFile(file, `${JSON.stringify(lock, null, 2)}\n`);

/** What npm writes of an optional package of another platform, but for its hash, which only its file could tell. */
function entry(name, version) {
  const words = name
    .replace(/^@[^/]+\//, '')
    .replace('windows', 'win32')
    .split('-');
  const os = words.filter((word) => systems.includes(word));
  const cpu = words.filter((word) => processors.includes(word));
  const libc = words.flatMap((word) =>
    word.startsWith('musl') ? 'musl' : word.startsWith('gnu') ? 'glibc' : [],
  );
  return {
    version,
    ...(cpu.length > 0 ? { cpu } : {}),
    dev: true,
    ...(libc.length > 0 && os.includes('linux') ? { libc } : {}),
    optional: true,
    ...(os.length > 0 ? { os } : {}),
  };
}
