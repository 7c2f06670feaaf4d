import { spawn } from 'node:child_process';

/** Runs a program to its end. `fault` says in words why it did not do what it should; undefined when it did. */
export function runProgram(command, args, { cwd, env = {}, timeoutMs = 600_000 } = {}) {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, LC_ALL: 'C', ...env }, stdio: ['ignore', 'pipe', 'pipe'] };
    const program = spawn(command, args, options);
    let [stdout, stderr] = ['', ''];
    program.stdout.on('data', (text) => (stdout += text));
    program.stderr.on('data', (text) => (stderr += text));
    const timer = setTimeout(() => program.kill('SIGKILL'), timeoutMs);
    program.once('error', (error) => {
      clearTimeout(timer);
      resolve({ stdout, fault: `it could not be started (${error.message}).` });
    });
    program.once('close', (code, signal) => {
      clearTimeout(timer);
      const said = stderr.trim().split('\n').slice(-3).join(' | ');
      const ended = `it ended with ${signal ?? `code ${code}`}`;
      resolve({
        stdout,
        fault: code === 0 ? undefined : said === '' ? `${ended}.` : `${ended} and said: ${said}`,
      });
    });
  });
}
