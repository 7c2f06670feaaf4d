import { workerData } from 'node:worker_threads';

// A thread of a process of isolated handlers: code that never lets the event loop run does not see that the parent is gone.
const parentPid = workerData as number;
setInterval(() => {
  if (process.ppid !== parentPid) process.kill(process.pid, 'SIGKILL');
}, 1_000);
