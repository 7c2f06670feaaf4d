import { setTimeout as pause } from 'node:timers/promises';

const mostMs = 60_000;

/** Makes questions that are asked again while the server is down. */
export function patient(mayPass: (error: unknown) => boolean): <T>(question: () => Promise<T>) => Promise<T> {
  return async (question) => {
    const deadline = performance.now() + mostMs;
    for (;;) {
      try {
        return await question();
      } catch (error) {
        if (!mayPass(error) || performance.now() > deadline) throw error;
        await pause(100);
      }
    }
  };
}
