/** Returns what it is sent until it is sent `stop`; shows how a child program of the tests is made. */
process.send?.({ type: 'ready', args: process.argv.slice(2), greeting: process.env['GREETING'] });

process.on('message', (message) => {
  if (message === 'stop') {
    process.stdout.write('stopping\n');
    process.exitCode = 7;
    process.disconnect();
    return;
  }
  process.send?.({ type: 'echo', message });
});
