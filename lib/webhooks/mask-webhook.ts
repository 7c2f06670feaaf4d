const hidden = '***';

/** Headers that hold no secret. */
const plain: ReadonlySet<string> = new Set([
  'content-type',
  'accept',
  'user-agent',
  'content-language',
  'accept-language',
]);

/** Headers of a webhook with their values hidden, unless they are known to hold no secret. */
export function maskHeaders(headers: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      plain.has(name.toLowerCase()) ? String(value) : hidden,
    ]),
  );
}

/** An address without its password and the values of its parameters. */
export function maskUrl(text: string): string {
  if (!URL.canParse(text)) return hidden;
  const url = new URL(text);
  if (url.username !== '') url.username = hidden;
  if (url.password !== '') url.password = hidden;
  for (const name of new Set(url.searchParams.keys())) url.searchParams.set(name, hidden);
  if (url.hash !== '') url.hash = hidden;
  return url.href;
}
