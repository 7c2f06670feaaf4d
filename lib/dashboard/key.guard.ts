import { createHash, timingSafeEqual } from 'node:crypto';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { DashboardForbidden } from './answer.js';
import { headerOf, requestOf, type Answer } from './request.js';

/** Lets in who knows a key: from the address, and then from a cookie, which this browser sends to this site only. */
export class KeyGuard implements CanActivate {
  readonly #hash: Buffer;
  /** Of its own, because cookies do not tell ports apart. */
  readonly #cookie: string;

  constructor(key: string) {
    this.#hash = hashOf(key);
    this.#cookie = `tarefa_${this.#hash.toString('hex').slice(0, 12)}`;
  }

  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context) as ReturnType<typeof requestOf> & {
      readonly query?: { readonly key?: unknown };
    };
    const given = request.query?.key;
    if (typeof given === 'string' && this.#fits(given)) {
      const answer = context.switchToHttp().getResponse<Answer>();
      answer.header('Set-Cookie', `${this.#cookie}=${given}; HttpOnly; SameSite=Strict; Path=/`);
      return true;
    }
    const cookies = (headerOf(request, 'cookie') ?? '').split(';').map((cookie) => cookie.trim());
    const own = cookies.find((cookie) => cookie.startsWith(`${this.#cookie}=`));
    if (own !== undefined && this.#fits(own.slice(this.#cookie.length + 1))) return true;
    throw new DashboardForbidden('open the address that the command printed: it contains a key');
  }

  #fits(key: string): boolean {
    return timingSafeEqual(hashOf(key), this.#hash);
  }
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
