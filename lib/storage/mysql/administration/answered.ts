import type { Answer, TextRow } from '../connections/answers.js';
import type { Run } from '../connections/transactions.js';

/** Runs one statement and answers its rows. */
export async function rowsOf(
  run: Run,
  text: string,
  values?: readonly unknown[],
): Promise<readonly TextRow[]> {
  return (await answerOf(run, text, values)).rows;
}

/** Runs one statement and answers how many rows it has found to change, or inserted. */
export async function changedBy(run: Run, text: string, values?: readonly unknown[]): Promise<number> {
  return (await answerOf(run, text, values)).changed;
}

/** Runs one statement. */
async function answerOf(run: Run, text: string, values?: readonly unknown[]): Promise<Answer> {
  const [answer] = await run(text, values);
  if (!answer) throw new Error('the server sent no answer');
  return answer;
}

/** The ids of rows. */
export function idsOf(rows: readonly TextRow[]): readonly string[] {
  return rows.map((row) => String(row['id']));
}
