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
    summary: 'prints a script that completes commands and options in a shell',
    usage: shells.join(' | '),
    words: shells,
    description: `Contacts no database. Write it into the shell's start-up file: the script holds every name, so that completing
      starts no process. After an upgrade a new shell has the new names.`,
    examples: [
      'echo \'eval "$(tarefa completion bash)"\' >> ~/.bashrc',
      "echo 'source <(tarefa completion zsh)' >> ~/.zshrc",
      'tarefa completion fish > ~/.config/fish/completions/tarefa.fish',
    ],
    run: async ({ positionals, output }): Promise<ExitCode> => {
      const [shell = '', ...others] = positionals;
      if (!Object.hasOwn(completions, shell) || others.length > 0) {
        throw new UsageError(`which shell? Give one of ${shells.join(', ')}`);
      }
      const script = completions[shell as Shell]({ commands: commands(), common: commonOptions });
      output.json({ shell, script });
      output.text(script);
      return 0;
    },
  };
}
