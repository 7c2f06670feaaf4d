import { isRedactRule } from '../../options/dashboard-options.js';
import { Redaction } from '../../redaction/redaction.js';
import { UsageError, type CommandOption, type OptionValues } from '../command.js';
import { listOption } from '../option-values.js';

/** What commands take that show what tasks hold. */
export const redactOption: Readonly<Record<'redact', CommandOption>> = {
  redact: {
    type: 'string',
    multiple: true,
    value: '<name>',
    description:
      'a name or path whose values are hidden, in addition to those that are secret by their names',
  },
};

/** Hides what the dashboard hides. */
export function readRedaction(options: OptionValues): Redaction {
  const rules = listOption(options, 'redact');
  const wrong = rules.find((rule) => !isRedactRule(rule));
  if (wrong === undefined) return new Redaction(rules);
  throw new UsageError(
    `--redact must be a name or path such as cpf or customer.*.number, not ${JSON.stringify(wrong)}`,
  );
}
