import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { DashboardForbidden } from './answer.js';
import { requestOf, type Answer } from './request.js';
import { foreignSite, isNavigation } from './same-site.js';

/** What a dashboard's answers have in common: nothing may be kept by a browser or a proxy, framed, embedded or guessed at. */
export const safeHeaders: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/**
 * Comes first, for everything a dashboard answers: refusals and live streams have {@link safeHeaders} too, and a page of
 * another site reads nothing, whatever the application allows others by CORS. Links from other sites open the page.
 */
export class OwnPageGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const answer = context.switchToHttp().getResponse<Answer>();
    for (const [name, value] of Object.entries(safeHeaders)) answer.header(name, value);
    const request = requestOf(context);
    const problem = foreignSite(request);
    if (problem === undefined || isNavigation(request)) return true;
    throw new DashboardForbidden(`only the dashboard's own page may read this: ${problem}`);
  }
}
