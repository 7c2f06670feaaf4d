import { createInterface } from 'node:readline';
import { UsageError, type CommandCall, type CommandOption } from './command.js';
import { flagOption } from './option-values.js';

/** The option that answers in advance. */
export const yesOption: Readonly<Record<string, CommandOption>> = {
  yes: { type: 'boolean', short: 'y', description: 'does not ask for confirmation' },
};

/**
 * Asks whether to go on. Without a terminal to ask at, `--yes` has to be given.
 *
 * @throws {UsageError} without a terminal to ask at and without `--yes`
 */
export async function confirm(call: CommandCall, question: string): Promise<boolean> {
  const { input, output, options, signal } = call;
  if (flagOption(options, 'yes')) return true;
  const isTerminal = (input as { isTTY?: boolean }).isTTY === true && output.isTerminal && !output.asJson;
  if (!isTerminal) {
    throw new UsageError(
      `${question} Confirmation requires a terminal: give --yes, or check first with --dry-run`,
    );
  }
  output.prompt(`${question} [y/N] `);
  const lines = createInterface({ input });
  try {
    const answer = await new Promise<string>((resolve) => {
      lines.once('line', resolve);
      lines.once('close', () => resolve(''));
      if (signal.aborted) resolve('');
      signal.addEventListener('abort', () => resolve(''), { once: true });
    });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
