import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { DashboardForbidden } from './answer.js';
import { forwardingHeader } from './forwarding-headers.js';
import { hostOf, remoteAddressOf, requestOf } from './request.js';

const addresses: ReadonlySet<string | undefined> = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);
const names: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Where a dashboard has no guard: only this machine may see it, by its own name, so that no page of another site that has
 * its name resolve to this machine can. What a proxy passes on comes from this machine too, but not from its user.
 */
export class LoopbackGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    const passedOnBy = forwardingHeader(request);
    const name = hostOf(request).replace(/:\d+$/, '').toLowerCase();
    if (addresses.has(remoteAddressOf(request)) && names.has(name) && passedOnBy === undefined) return true;
    const why =
      passedOnBy === undefined ? '' : ` The header ${passedOnBy} shows that a proxy forwarded this request.`;
    throw new DashboardForbidden(
      `this dashboard has no guards, so it can be opened only on the machine where it runs: set dashboard.guards.${why}`,
    );
  }
}
