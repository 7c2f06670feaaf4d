/** Hides the password of every address in a text: `postgres://shop:***@db/shop`. */
export function withoutPasswords(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]{0,30}:\/\/[^\s:/@]*):\S*@/gi, '$1:***@')
    .replace(/([?&\s](?:password|pass|pwd)=)[^&\s]*/gi, '$1***');
}
