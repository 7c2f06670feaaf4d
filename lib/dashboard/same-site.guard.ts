import { ForbiddenException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { headerOf, requestOf, type DashboardRequest } from './request.js';

/** The header that every action has. A page of another site cannot send it without asking first, which nobody allows. */
export const actionHeader = 'x-tarefa-dashboard';

/**
 * Lets actions come from the dashboard's own page only: as JSON, with a header of its own, and where the browser says so, or
 * says where from, from this very site. What is no browser needs the header only.
 */
export class SameSiteGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const problem = problemOf(requestOf(context));
    if (problem === undefined) return true;
    throw new ForbiddenException({
      code: 'ACTION_FORBIDDEN',
      message: `an action must come from the page: ${problem}`,
    });
  }
}

function problemOf(request: DashboardRequest): string | undefined {
  const type = (headerOf(request, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') return 'its content-type is not application/json';
  if (headerOf(request, actionHeader) !== '1') return `the header ${actionHeader} is missing`;
  const site = headerOf(request, 'sec-fetch-site');
  if (site !== undefined) return site === 'same-origin' ? undefined : `the browser calls it ${site}`;
  // Older browsers, and those that reach it without TLS by another name than localhost.
  const origin = headerOf(request, 'origin');
  if (origin === undefined) return undefined;
  const hosts = [headerOf(request, 'host'), headerOf(request, 'x-forwarded-host')?.split(',')[0]?.trim()];
  return URL.canParse(origin) && hosts.includes(new URL(origin).host)
    ? undefined
    : `it comes from ${origin}, which is another site`;
}
