import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { DashboardForbidden } from './answer.js';
import { headerOf, requestOf, type DashboardRequest } from './request.js';
import { contentTypeOf } from './request-body.js';
import { foreignSite } from './same-site.js';

/** The header that every action has. A page of another site cannot send it without asking first, which is never allowed. */
export const actionHeader = 'x-tarefa-dashboard';

/**
 * Lets actions come from the dashboard's own page only: as JSON, with a header of its own, and where the browser says so, or
 * says where from, from this very site. Clients other than browsers need the header only.
 */
export class SameSiteGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const problem = problemOf(requestOf(context));
    if (problem === undefined) return true;
    throw new DashboardForbidden(`an action must come from the page: ${problem}`);
  }
}

function problemOf(request: DashboardRequest): string | undefined {
  if (contentTypeOf(request) !== 'application/json') return 'its content-type is not application/json';
  if (headerOf(request, actionHeader) !== '1') return `the header ${actionHeader} is missing`;
  // No page sends an action from the address bar.
  if (headerOf(request, 'sec-fetch-site') === 'none') return 'the browser marks the request as none';
  return foreignSite(request);
}
