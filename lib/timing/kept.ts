/** Asks again only when the last answer is older than that, or there was none; everybody who asks meanwhile gets the same. */
export function kept<T>(forMs: number, ask: () => Promise<T>): () => Promise<T> {
  let last: { readonly answer: Promise<T>; readonly at: number } | undefined;
  return () => {
    if (last && performance.now() - last.at <= forMs) return last.answer;
    const asked = (last = { answer: ask(), at: performance.now() });
    asked.answer.catch(() => {
      if (last === asked) last = undefined;
    });
    return asked.answer;
  };
}
