import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { inSources } from '../../folders.js';
import type { HarnessLine } from '../harness-line.js';
import { makeHarnessPage } from './harness-page.js';

/** Reads files of result lines, in this order. */
export async function readLines(files: readonly string[]): Promise<HarnessLine[]> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return texts.flatMap((text) =>
    text
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as HarnessLine),
  );
}

/** Keeps the lines as `results/latest.jsonl`, and writes `RESULTS.md` from them and the hand-written notes. */
export async function writeHarnessReport(lines: readonly HarnessLine[]): Promise<void> {
  const notes = await readFile(inSources('harness/notes.md'), 'utf8').catch(() => '');
  await mkdir(inSources('harness/results'), { recursive: true });
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  await writeFile(inSources('harness/results/latest.jsonl'), text);
  await writeFile(inSources('harness/RESULTS.md'), makeHarnessPage(lines, notes));
}
