import type { Answer } from '../connections/answers.js';
import type { Run } from '../connections/transactions.js';

/** A statement with its values. */
export interface Part {
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** Sends statements as one text, so that they take one round trip; returns each one's answer, none for those left out. */
export async function askTogether<Name extends string>(
  run: Run,
  parts: Readonly<Record<Name, Part | undefined>>,
): Promise<Partial<Record<Name, Answer>>> {
  const sent = (Object.entries(parts) as [Name, Part | undefined][]).flatMap(([name, part]) =>
    part ? [{ name, ...part }] : [],
  );
  const text = sent.map((part) => part.text).join(';\n');
  const values = sent.flatMap((part) => part.values ?? []);
  const answers = await run(text, values);
  return Object.fromEntries(sent.map(({ name }, index) => [name, answers[index]])) as Partial<
    Record<Name, Answer>
  >;
}

export const begin: Part = { text: 'start transaction' };
export const commit: Part = { text: 'commit' };
