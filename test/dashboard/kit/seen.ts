import type { Locator, Page } from 'playwright-core';

// What a person, or a screen reader, finds in a page; each waits until it is so.

/** It is there to be seen. */
export async function seen(locator: Locator): Promise<void> {
  await locator.first().waitFor();
}

/** It is there, and says so. */
export async function says(locator: Locator, words: string | RegExp): Promise<void> {
  await locator.filter({ hasText: words }).first().waitFor();
}

/** It is not, or no longer, there. */
export async function gone(locator: Locator): Promise<void> {
  await locator.first().waitFor({ state: 'hidden' });
}

/** A part of the page by its heading or label. */
export function part(page: Page, name: string | RegExp): Locator {
  return page.getByRole('main').getByRole('region', { name, exact: true });
}

/** Row of a table by what names it. */
export function row(page: Page, name: string | RegExp): Locator {
  return page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });
}

/** Presses the button that asks, and the one in the dialog that does it; waits until that is done. */
export async function confirm(page: Page, button: Locator, label: string | RegExp): Promise<void> {
  await button.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: label, exact: true }).click();
  await gone(dialog);
}
