/** Scheme, host and port of a URL, which name the server that answers there; null for text that is not a URL. */
export function originOf(url: string | null): string | null {
  return url !== null && URL.canParse(url) ? new URL(url).origin : null;
}
