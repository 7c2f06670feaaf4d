import { headerOf, hostOf, type DashboardRequest } from './request.js';

/**
 * Why a request did not come from the dashboard's own page, nor from the address bar; undefined when it did, and for what is
 * no browser. `Sec-Fetch-Site` and `Origin` are the browser's own: no page can set them.
 */
export function foreignSite(request: DashboardRequest): string | undefined {
  const site = headerOf(request, 'sec-fetch-site');
  if (site === 'same-origin') return undefined;
  if (site !== undefined && site !== 'none') return `the browser marks the request as ${site}`;
  // Older browsers, and those that reach it without TLS by another name than localhost.
  const origin = headerOf(request, 'origin');
  if (origin === undefined) return undefined;
  return URL.canParse(origin) && new URL(origin).host === hostOf(request).toLowerCase()
    ? undefined
    : `it comes from another site, ${origin}`;
}

/** True for a request that opens a page of its own: by a link, a bookmark or the address bar, and not in a frame. */
export function isNavigation(request: DashboardRequest): boolean {
  return (
    headerOf(request, 'sec-fetch-mode') === 'navigate' && headerOf(request, 'sec-fetch-dest') === 'document'
  );
}
