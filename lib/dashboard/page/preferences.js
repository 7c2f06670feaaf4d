// Kept in the browser. Storage may be switched off or full: then a preference lasts as long as the page.

/** @type {Map<string, string>} */
const unsaved = new Map();

/**
 * What was chosen; null when nothing was.
 *
 * @param {string} name
 * @returns {string | null}
 */
export function readPreference(name) {
  try {
    return unsaved.get(name) ?? localStorage.getItem(`tarefa.${name}`);
  } catch {
    return null;
  }
}

/**
 * @param {string} name
 * @param {string | null} value null forgets it
 */
export function writePreference(name, value) {
  if (value === null) unsaved.delete(name);
  else unsaved.set(name, value);
  try {
    if (value === null) localStorage.removeItem(`tarefa.${name}`);
    else localStorage.setItem(`tarefa.${name}`, value);
  } catch {
    // The page goes on with what it was told.
  }
}
