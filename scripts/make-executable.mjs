// Makes compiled commands executable: node scripts/make-executable.mjs FILE…
import { chmodSync } from 'node:fs';

for (const file of process.argv.slice(2)) chmodSync(file, 0o755);
