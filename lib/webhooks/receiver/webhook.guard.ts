import { UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { TarefaError } from '../../errors.js';
import { readSecret } from '../signing-secret.js';
import { verifySignature, WebhookSignatureError } from '../signature.js';

/** A request of Express or Fastify, as far as it matters here. */
export interface SignedRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The bytes as they came; there with `NestFactory.create(App, { rawBody: true })`. */
  readonly rawBody?: Buffer | undefined;
}

/** Secrets that a message may be signed with; several while they rotate. */
export type WebhookSecrets = string | readonly string[];

/** How a receiver verifies webhooks. */
export interface WebhookGuardOptions {
  /** `whsec_…` or `whpk_…`; or what finds them for a request. No secret: it is refused. */
  readonly secrets:
    | WebhookSecrets
    | ((request: SignedRequest, context: ExecutionContext) => WebhookSecrets | Promise<WebhookSecrets>);
  /** Largest distance between the message's timestamp and the clock. Default 300. */
  readonly toleranceSeconds?: number | undefined;
}

/**
 * Lets only webhooks through that are signed as Standard Webhooks say; others are answered 401 with the reason. The
 * signature is over the bytes that came, so the application has to be created with `rawBody: true`.
 *
 * A message may still come twice: remember its `webhook-id` where that matters.
 *
 * @example
 * @UseGuards(new WebhookGuard({ secrets: process.env.SHOP_WEBHOOK_SECRET ?? [] }))
 * @Post('orders')
 * receive(@Body() order: Order) {}
 *
 * @example
 * @Injectable()
 * class PartnerGuard extends WebhookGuard {
 *   constructor(partners: Partners) {
 *     super({ secrets: (request) => partners.secretsOf(request.headers['x-partner']) });
 *   }
 * }
 */
export class WebhookGuard implements CanActivate {
  readonly #options: WebhookGuardOptions;

  /** @throws {TarefaError} `WEBHOOK_SECRET_INVALID`: what is wrong from the start is told at the start */
  constructor(options: WebhookGuardOptions) {
    if (typeof options.secrets !== 'function')
      for (const secret of listOf(options.secrets)) readSecret(secret);
    this.#options = options;
  }

  /**
   * @throws {UnauthorizedException} with `reason`, see `SignatureProblem`
   * @throws {TarefaError} `WEBHOOK_RAW_BODY_MISSING`, `WEBHOOK_SECRET_INVALID`
   */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<SignedRequest>();
    const secrets = await this.#secrets(request, context);
    if (secrets.length === 0) throw refusal('secret-unknown', 'no secret was found to verify this webhook');
    const { toleranceSeconds } = this.#options;
    try {
      verifySignature(secrets, request.headers, bodyOf(request), {
        ...(toleranceSeconds !== undefined && { toleranceSeconds }),
      });
      return true;
    } catch (error) {
      if (error instanceof WebhookSignatureError) throw refusal(error.problem, error.message);
      throw error;
    }
  }

  async #secrets(request: SignedRequest, context: ExecutionContext): Promise<readonly string[]> {
    const { secrets } = this.#options;
    return listOf(typeof secrets === 'function' ? await secrets(request, context) : secrets);
  }
}

function listOf(secrets: WebhookSecrets): readonly string[] {
  return typeof secrets === 'string' ? [secrets] : secrets;
}

/** Nest keeps the bytes only of what it parses. A request without a body has none, and is signed over nothing. */
function bodyOf({ headers, rawBody }: SignedRequest): Buffer | string {
  if (rawBody !== undefined) return rawBody;
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return '';
  throw new TarefaError(
    'WEBHOOK_RAW_BODY_MISSING',
    'the raw body of this webhook was not kept, so its signature cannot be verified: create the application with ' +
      '`NestFactory.create(AppModule, { rawBody: true })`; for bodies that are not JSON, call ' +
      "`app.useBodyParser('text', { type: () => true })` as well",
  );
}

function refusal(reason: string, message: string): UnauthorizedException {
  return new UnauthorizedException({ statusCode: 401, error: 'Unauthorized', message, reason });
}
