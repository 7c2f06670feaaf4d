/** Takes memory until there is none. */
export function exhaust(): void {
  const kept: string[][] = [];
  for (;;) kept.push(Array.from({ length: 10_000 }, (_, index) => `text ${index}`));
}
