// Puts the dashboard's page beside the compiled library: node scripts/build-page.mjs DIR, where DIR holds the compiled `lib`.
// Its modules become one file and its style sheets another, so that a browser asks three times instead of sixty.
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = join(root, 'lib/dashboard/page');

for (const folder of process.argv.slice(2)) {
  const outDir = resolve(root, folder, 'dashboard/page');
  mkdirSync(outDir, { recursive: true });
  await build({
    configFile: false,
    logLevel: 'error',
    root: page,
    base: './',
    publicDir: false,
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2022',
      modulePreload: false,
      // What `light-dark()` needs: older ones get the page without colours of their own.
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      rollupOptions: {
        input: { main: join(page, 'main.js'), page: join(page, 'page.css') },
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: '[name].js',
          assetFileNames: '[name][extname]',
        },
      },
    },
  });
  for (const file of ['index.html', 'icon.svg']) copyFileSync(join(page, file), join(outDir, file));
}
