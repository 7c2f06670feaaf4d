import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inSources } from '../folders.js';
import type { ResultLine } from '../result-line.js';
import type { ResultsPage } from './results-page.js';

/** Reads files of result lines, in this order. */
export async function readResults(files: readonly string[]): Promise<ResultLine[]> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return texts.flatMap((text) =>
    text
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as ResultLine),
  );
}

/** Keeps the lines that a report is made from as `results/latest.jsonl` of a folder. */
export async function keepResults(folder: string, lines: readonly ResultLine[]): Promise<void> {
  const place = inPackage(folder, 'results');
  await mkdir(place, { recursive: true });
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  await writeFile(join(place, 'latest.jsonl'), text);
}

/** Writes `RESULTS.md` and its pictures in the place of the last ones. */
export async function writeReport(folder: string, makePage: (notes: string) => ResultsPage): Promise<void> {
  const notes = await readFile(inPackage(folder, 'notes.md'), 'utf8').catch(() => '');
  const { markdown, charts } = makePage(notes);
  const place = inPackage(folder, 'results');
  for (const name of await readdir(place)) {
    if (name.endsWith('.svg')) await rm(join(place, name));
  }
  for (const { file, svg } of charts) await writeFile(join(place, file), svg);
  await writeFile(inPackage(folder, 'RESULTS.md'), markdown);
}

function inPackage(...parts: readonly string[]): string {
  return join(inSources('..'), ...parts);
}
