// Runs the files again in which tests have failed, alone and once, and ends well if they all pass. Tests run real servers on
// whatever machine there is: one whose time limit a stall has used up passes alone, one that has found a fault fails again. More
// files than a few are no accident, and are not run again. `.ci/run` names what passed only now.
// Arguments: project, report of the first run as JSON, where to write that of the second.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const mostFiles = 3;
const [project, first, second] = process.argv.slice(2);

if (!existsSync(first)) stop('the first run wrote no report.');
const { testResults } = JSON.parse(readFileSync(first, 'utf8'));
const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => relative('', name));
if (failed.length === 0) stop('the first run failed, but none of its files did.');
if (failed.length > mostFiles)
  stop(`${failed.length} files have failed; at most ${mostFiles} are run again.`);

process.stdout.write(`\n== Again, alone: ${failed.join(', ')}\n`);
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${second}`];
const { status } = spawnSync('npx', ['vitest', 'run', '--project', project, ...reporters, ...failed], {
  stdio: 'inherit',
});
process.exit(status ?? 1);

function stop(why) {
  process.stdout.write(`\nNothing is run again: ${why}\n`);
  process.exit(1);
}
