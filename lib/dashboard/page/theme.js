import { readPreference, writePreference } from './preferences.js';

/** @typedef {'system' | 'light' | 'dark'} Theme */

/**
 * The theme that was chosen; `system` follows the system's.
 *
 * @returns {Theme}
 */
export function chosenTheme() {
  const theme = readPreference('theme');
  return theme === 'light' || theme === 'dark' ? theme : 'system';
}

/** @param {Theme} theme */
export function chooseTheme(theme) {
  writePreference('theme', theme === 'system' ? null : theme);
  applyTheme();
}

/** Makes the page look as was chosen. */
export function applyTheme() {
  const theme = chosenTheme();
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
