/** A moment to give up at. */
export interface Deadline {
  readonly reached: Promise<void>;
  /** Forgets it; `reached` then never resolves. */
  readonly cancel: () => void;
}

export function deadlineIn(ms: number): Deadline {
  let timer: NodeJS.Timeout | undefined;
  const reached = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  return { reached, cancel: () => clearTimeout(timer) };
}

/** Waits for work, but no longer than that. */
export async function within(work: Promise<unknown>, ms: number): Promise<void> {
  const { cancel, reached } = deadlineIn(ms);
  try {
    await Promise.race([work, reached]);
  } finally {
    cancel();
  }
}
