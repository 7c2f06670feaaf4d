import { UsageError, type Command, type ExitCode } from '../command.js';
import { commonOptions } from '../common-options.js';
import { completions, type Shell } from '../completion.js';

const shells = Object.keys(completions);

/**
 * `tarefa completion`.
 *
 * @param commands all of them, asked for when the script is written
 */
export function completionCommand(commands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'prints a shell completion script for commands and options',
    usage: shells.join(' | '),
    words: shells,
    description: `Contacts no database. Add it to the shell's start-up file: the script contains every name, so completion starts no
      process. After an upgrade, new shells complete the new names.`,
    examples: [
      'echo \'eval "$(tarefa completion bash)"\' >> ~/.bashrc',
      "echo 'source <(tarefa completion zsh)' >> ~/.zshrc",
      'tarefa completion fish > ~/.config/fish/completions/tarefa.fish',
    ],
    run: async ({ positionals, output }): Promise<ExitCode> => {
      const [shell = '', ...others] = positionals;
      if (!Object.hasOwn(completions, shell) || others.length > 0) {
        throw new UsageError(`the shell must be one of ${shells.join(', ')}`);
      }
      const script = completions[shell as Shell]({ commands: commands(), common: commonOptions });
      output.json({ shell, script });
      output.text(script);
      return 0;
    },
  };
}
