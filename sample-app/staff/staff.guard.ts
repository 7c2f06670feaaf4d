import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';

import { settings } from '../settings.js';

const user = 'staff';

/** Lets the shop's staff see the dashboard: the browser asks for name and password. */
export class StaffGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const [scheme, credentials] = (http.getRequest<IncomingMessage>().headers.authorization ?? '').split(' ');
    const given = scheme === 'Basic' ? Buffer.from(credentials ?? '', 'base64').toString() : '';
    if (timingSafeEqual(hashOf(given), hashOf(`${user}:${settings.staffPassword}`))) return true;
    http.getResponse<ServerResponse>().setHeader('WWW-Authenticate', 'Basic realm="The shop\'s queue"');
    throw new UnauthorizedException();
  }
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
