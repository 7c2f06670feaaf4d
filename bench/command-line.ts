/** Standard output has the result lines only. */
export function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Reads the arguments of this process; explains how to use it when there are none to work with, or wrong ones. */
export function readOrExplain<T>(read: (args: string[]) => T | undefined, usage: string): T | undefined {
  try {
    const args = read(process.argv.slice(2));
    if (args === undefined) log(usage);
    return args;
  } catch (error) {
    log(`${(error as Error).message}\n\n${usage}`);
    process.exitCode = 2;
    return undefined;
  }
}
