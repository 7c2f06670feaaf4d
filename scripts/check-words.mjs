// `npm run check:words`: worn-out words in code, texts and documents, each with the one to write instead.
//   node scripts/check-words.mjs [FILE or FOLDER…]
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';

const everywhere = [
  'lib',
  'docs',
  'test',
  'bench',
  'scripts',
  'sample-app',
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
];
const kinds = new Set(['.ts', '.js', '.mjs', '.css', '.html', '.md']);
/** Pages that quote these words, installed packages, and results of runs. */
const isLeftOut = (path) =>
  /(?:check-words|[/\\]words\.test|node_modules|[/\\]results[/\\]|[/\\]dist[/\\])/.test(path);

const words = [
  [/\banew\b/i, 'again; a table is rebuilt, a number starts over'],
  [/\bin vain\b/i, 'without result, for nothing'],
  [/\ball the same\b(?! (?:time|kind|size|to))/i, 'anyway'],
  [/\bbesides(?=\s*(?:[.,;:)'"]|\*\/|$))/i, 'also, as well'],
  [/(?<!worker\.)\btroubled\b/i, 'failing'],
  [/\b(?:connects again|reconnects|goes on|goes back|starts) by itself\b/i, 'automatically'],
  [
    /\/?\*\*? Answers (?!are |such |for the |of |in |with |a |NOTIFY|HTTP|PostgreSQL|one question)/,
    'Returns',
  ],
];

function* filesOf(path) {
  if (isLeftOut(path)) return;
  if (statSync(path).isDirectory()) for (const name of readdirSync(path)) yield* filesOf(join(path, name));
  else if (kinds.has(extname(path))) yield path;
}

const given = process.argv.slice(2);
let found = 0;
for (const path of (given.length > 0 ? given : everywhere).flatMap((one) => [...filesOf(one)])) {
  for (const [index, line] of readFileSync(path, 'utf8').split('\n').entries()) {
    for (const [worn, better] of words) {
      const [text] = worn.exec(line) ?? [];
      if (text === undefined) continue;
      found += 1;
      process.stdout.write(`${path}:${index + 1}: "${text.trim()}": ${better}\n`);
    }
  }
}
if (found > 0) process.exit(1);
