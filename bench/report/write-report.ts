import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inSources } from '../folders.js';
import type { ResultLine } from '../result-line.js';
import type { Scenario } from '../scenario.js';
import { makeResultsPage } from './results-page.js';

const resultsFolder = inSources('results');

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

/** Keeps the lines that the report is made from as `results/latest.jsonl`. */
export async function keepResults(lines: readonly ResultLine[]): Promise<void> {
  await mkdir(resultsFolder, { recursive: true });
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  await writeFile(join(resultsFolder, 'latest.jsonl'), text);
}

/** Writes `RESULTS.md` and its pictures in the place of the last ones. */
export async function writeReport(
  lines: readonly ResultLine[],
  scenarios: readonly Scenario[],
): Promise<void> {
  const notes = await readFile(inSources('notes.md'), 'utf8').catch(() => '');
  const { markdown, charts } = makeResultsPage(lines, scenarios, notes);
  await mkdir(resultsFolder, { recursive: true });
  for (const name of await readdir(resultsFolder)) {
    if (name.endsWith('.svg')) await rm(join(resultsFolder, name));
  }
  for (const { file, svg } of charts) await writeFile(join(resultsFolder, file), svg);
  await writeFile(inSources('RESULTS.md'), markdown);
}
