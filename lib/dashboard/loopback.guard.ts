import { ForbiddenException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { headerOf, requestOf } from './request.js';

const addresses: ReadonlySet<string | undefined> = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);
const names: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Where a dashboard has no guard: only this machine may see it, by its own name, so that no page of another site that has
 * its name resolve to this machine can.
 */
export class LoopbackGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    const { remoteAddress } = request.raw?.socket ?? request.socket ?? {};
    const host = headerOf(request, 'host') ?? '';
    const isForwarded = ['forwarded', 'x-forwarded-for'].some(
      (name) => headerOf(request, name) !== undefined,
    );
    if (addresses.has(remoteAddress) && names.has(host.replace(/:\d+$/, '').toLowerCase()) && !isForwarded)
      return true;
    throw new ForbiddenException({
      code: 'ACTION_FORBIDDEN',
      message:
        'this dashboard has no guards, so only the machine that it runs on may see it: give it some (dashboard.guards)',
    });
  }
}
