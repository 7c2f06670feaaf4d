import type { Page } from 'playwright-core';

/** Tells of everything that a page of the dashboard must never do. */
export function watchPage(page: Page, tell: (fault: string) => void): void {
  // Breaches of the Content-Security-Policy are logged as errors, too.
  page.on('console', (message) => {
    if (message.type() === 'error') tell(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => tell(`thrown: ${error.stack ?? error.message}`));
  page.on('dialog', (dialog) => {
    tell(`dialog: ${dialog.type()} ${dialog.message()}`);
    void dialog.dismiss();
  });
  let origin: string | undefined;
  const watchAddress = (url: string): void => {
    const { protocol, origin: asked } = new URL(url);
    // These are no requests to anybody.
    if (['data:', 'blob:', 'about:'].includes(protocol)) return;
    origin ??= asked;
    if (asked !== origin) tell(`request elsewhere: ${url}`);
  };
  page.on('request', (request) => watchAddress(request.url()));
  page.on('websocket', (socket) => watchAddress(socket.url()));
  page.on('popup', (popup) => tell(`another window: ${popup.url()}`));
}
