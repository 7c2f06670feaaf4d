const harmless = new Set(['accept', 'accept-encoding', 'accept-language', 'content-type', 'user-agent']);

/** True for a header that may be sent to another origin; any other may be a key to the first one. */
export function isHarmlessHeader(name: string): boolean {
  return harmless.has(name.toLowerCase());
}

/** Names of those headers of a subscription that may be keys to its origin. */
export function secretHeaders(headers: Readonly<Record<string, unknown>> | null): readonly string[] {
  return Object.keys(headers ?? {}).filter((name) => !isHarmlessHeader(name));
}
