import { en } from './messages/en.js';
import { readPreference, writePreference } from './preferences.js';

/** @typedef {keyof typeof en} MessageKey */
/** @typedef {'en' | 'pt'} Language */
/** @typedef {import('./dom.js').Child} Child */

/** @type {import('./messages/en.js').Messages} */
let messages = en;
/** What the server refuses, by code; without them as the server says it. @type {Readonly<Record<string, string>>} */
let refusals = {};
/** @type {Language} */
let language = 'en';
let locale = 'en';
let plural = new Intl.PluralRules('en');

/** Takes the language that was chosen, else the first of the browser's that is spoken here. */
export async function applyLanguage() {
  const chosen = readPreference('language');
  const wanted = navigator.languages.map((tag) => ({ tag, base: tag.slice(0, 2).toLowerCase() }));
  const spoken = wanted.find(({ base }) => base === 'en' || base === 'pt')?.base ?? 'en';
  language = (chosen ?? spoken) === 'pt' ? 'pt' : 'en';
  locale = wanted.find(({ base }) => base === language)?.tag ?? (language === 'pt' ? 'pt-BR' : 'en');
  const others = language === 'pt' ? await import('./messages/pt.js') : { pt: en, refusals: {} };
  messages = others.pt;
  refusals = others.refusals;
  plural = new Intl.PluralRules(locale);
  document.documentElement.lang = language === 'pt' ? 'pt-BR' : 'en';
}

/** @param {Language} chosen */
export async function chooseLanguage(chosen) {
  writePreference('language', chosen);
  await applyLanguage();
}

/** @returns {Language} */
export function currentLanguage() {
  return language;
}

/** For numbers and dates: with the browser's region where it speaks the language. */
export function currentLocale() {
  return locale;
}

/**
 * A message as plain text. `{name}` is replaced by the value of that name; `one | many` is chosen by `n`.
 *
 * @param {MessageKey} key
 * @param {Readonly<Record<string, string | number>>} [values] `n` is a number and chooses the form
 * @returns {string}
 */
export function t(key, values = {}) {
  return pieces(key, values)
    .map((piece) => (typeof piece === 'string' ? piece : String(values[piece.name] ?? '')))
    .join('');
}

/**
 * Why the server refused, in the language of the page.
 *
 * @param {string} code
 * @param {string} message in English
 * @param {Readonly<Record<string, string>>} values
 */
export function refusalText(code, message, values) {
  const words = refusals[code];
  if (words === undefined) return message;
  const key = /** @type {MessageKey} */ (`status.${values['status'] ?? ''}`);
  /** @type {Readonly<Record<string, string>>} */
  const all = { ...values, message, ...(key in en ? { status: t(key) } : {}) };
  return splitNames(words)
    .map((piece) => (typeof piece === 'string' ? piece : (all[piece.name] ?? '')))
    .join('');
}

/**
 * A message with elements in it, such as a link or a name that came from the server.
 *
 * @param {MessageKey} key
 * @param {Readonly<Record<string, Child>>} values
 * @returns {Child[]}
 */
export function phrase(key, values) {
  return pieces(key, values).map((piece) => (typeof piece === 'string' ? piece : values[piece.name]));
}

/**
 * @param {MessageKey} key
 * @param {Readonly<Record<string, unknown>>} values
 * @returns {(string | { readonly name: string })[]}
 */
function pieces(key, values) {
  const forms = messages[key].split(' | ');
  const { n } = values;
  const form = typeof n === 'number' && plural.select(n) === 'one' ? forms[0] : forms.at(-1);
  return splitNames(form ?? '');
}

/**
 * @param {string} text
 * @returns {(string | { readonly name: string })[]}
 */
function splitNames(text) {
  return text.split(/\{(\w+)\}/).map((piece, index) => (index % 2 === 0 ? piece : { name: piece }));
}
