// Texts that somebody may insert who wishes nobody well.

/** Where one of these is read as markup, {@link ran} says so. */
const markup = [
  `<script>window.ran = 'script'</script>`,
  `"><img src=x onerror="window.ran='attribute'">`,
  `' onfocus='window.ran=1' autofocus tabindex=1 x='`,
  `</textarea></title></style><svg onload="window.ran='svg'">`,
  `javascript:window.ran='address'`,
  '{{constructor.constructor("window.ran=1")()}}${window.ran=1}',
];

/** Short enough for every column that a producer may fill. */
export const shortHostile: readonly string[] = [
  ...markup,
  '\u0001\u0007\u001b[31mred\u001b[0m\u009f',
  'invoice\u202efdp.exe',
  '\u2066\u200b\u00ad\ufeff',
  '👩‍👩‍👧‍👦🏴‍☠️ é 日本語 עברית',
  '../../../etc/passwd?a=b#c&d=%00',
  '__proto__',
  ' ',
];

/** A string of a megabyte. */
export const megabyte = `${markup.join(' ')} ${'long '.repeat(210_000)}`.slice(0, 1_040_000);

/** JSON in so many arrays, of which the innermost holds markup. */
export function nestedJson(levels: number): string {
  return `${'['.repeat(levels)}${JSON.stringify(markup[0])}${']'.repeat(levels)}`;
}

/** What was read as markup or script, in a page. */
export const ran = '({ ran: window.ran, images: document.images.length, scripts: document.scripts.length })';

/** {@link ran} of a page where nothing was: its own script is in its head. */
export const nothingRan = { ran: undefined, images: 0, scripts: 1 };

/** As the page writes it in one line: characters that cannot be seen, or turn the direction, are written out. */
export function asShown(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
