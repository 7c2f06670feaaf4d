import {
  Body,
  Controller,
  Delete,
  Injectable,
  Module,
  Post,
  UseGuards,
  type ExecutionContext,
  type INestApplication,
} from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { expect, onTestFinished, test } from 'vitest';
import { WebhookGuard, type SignedRequest } from '../../lib/webhooks/receiver/webhook.guard.js';
import { generateKeyPair, generateSecret } from '../../lib/webhooks/signing-secret.js';
import { sign } from '../../lib/webhooks/signature.js';
import { createClient, toSend } from './kit/receivers.js';

const secret = generateSecret();
const partner = await generateKeyPair();

@Injectable()
class Partners {
  secretsOf(name: unknown): readonly string[] {
    return name === 'shop' ? [partner.publicKey] : [];
  }
}

@Injectable()
class PartnerGuard extends WebhookGuard {
  constructor(partners: Partners) {
    super({ secrets: ({ headers }) => Promise.resolve(partners.secretsOf(headers['x-partner'])) });
  }
}
// What the compiler would note, were it not for the test runner's.
Reflect.defineMetadata('design:paramtypes', [Partners], PartnerGuard);

@Controller()
class Receiving {
  @UseGuards(new WebhookGuard({ secrets: [generateSecret(), secret] }))
  @Post('orders')
  orders(@Body() order: unknown): unknown {
    return { order };
  }

  @UseGuards(new WebhookGuard({ secrets: secret, toleranceSeconds: 3_600 }))
  @Delete('orders')
  removed(): string {
    return 'removed';
  }

  @UseGuards(PartnerGuard)
  @Post('partners')
  partners(): string {
    return 'partner';
  }
}

@Module({ controllers: [Receiving], providers: [Partners] })
class ReceivingModule {}

/** An application on loopback, and a client for it. */
async function start(options: { readonly rawBody?: boolean; readonly text?: boolean } = { rawBody: true }) {
  const testing = await Test.createTestingModule({ imports: [ReceivingModule] }).compile();
  const app = testing.createNestApplication<INestApplication & NestExpressApplication>({
    logger: false,
    ...(options.rawBody && { rawBody: true }),
  });
  if (options.text) app.useBodyParser('text', { type: () => true });
  await app.listen(0, '127.0.0.1');
  onTestFinished(() => app.close());
  const client = createClient();
  const url = (await app.getUrl()).replace('localhost', '127.0.0.1');
  const post = (path: string, request: object) => client.send(toSend(`${url}/${path}`, request));
  return { post, url };
}

test('what the client signs, the guard lets through, byte for byte', async () => {
  const { post } = await start();
  const body = '{ "żółw": "🐢",\n "big": 1.0 }';
  const answer = await post('orders', { body, secrets: [secret] });
  expect(answer).toMatchObject({ status: 201, snippet: '{"order":{"żółw":"🐢","big":1}}' });
  expect(await post('orders', { method: 'DELETE', secrets: [secret] })).toMatchObject({ snippet: 'removed' });
  const hourOld = Math.floor(Date.now() / 1_000) - 3_000;
  const late = { method: 'DELETE', secrets: [secret], timestamp: hourOld };
  expect((await post('orders', late)).status).toBe(200);
});

test('others are answered 401 with the reason, and no secret', async () => {
  const { post, url } = await start();
  const old = Math.floor(Date.now() / 1_000) - 600;
  const refused = [
    [await post('orders', {}), 'headers-missing'],
    [await post('orders', { secrets: [generateSecret()] }), 'signature-wrong'],
    [await post('orders', { secrets: [partner.secret] }), 'signature-unknown'],
    [await post('orders', { secrets: [secret], timestamp: old }), 'timestamp-too-old'],
  ] as const;
  for (const [{ status, snippet }, reason] of refused) {
    expect(status).toBe(401);
    expect(JSON.parse(snippet)).toEqual({
      statusCode: 401,
      error: 'Unauthorized',
      reason,
      message: expect.any(String) as string,
    });
    expect(snippet).not.toContain(secret.slice(6));
  }
  // Signed, and changed on the way.
  const timestamp = Math.floor(Date.now() / 1_000);
  const response = await fetch(`${url}/orders`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': sign([secret], { id: 'msg_1', timestamp, body: '{"total":1}' }),
    },
    body: '{"total":2}',
  });
  expect(response.status).toBe(401);
  expect(await response.json()).toMatchObject({ reason: 'signature-wrong' });
});

test('a guard of one’s own finds the secrets with what is injected', async () => {
  const { post } = await start();
  const signedBy = { secrets: [partner.secret], headers: { 'x-partner': 'shop' } };
  expect((await post('partners', signedBy)).status).toBe(201);
  const unknown = await post('partners', { ...signedBy, headers: { 'x-partner': 'other' } });
  expect(unknown.status).toBe(401);
  expect(JSON.parse(unknown.snippet)).toMatchObject({ reason: 'secret-unknown' });
});

test('bodies that are not JSON are verified where they are parsed', async () => {
  const { post } = await start({ rawBody: true, text: true });
  const answer = await post('orders', { body: 'plain żółw', secrets: [secret] });
  expect(answer).toMatchObject({ status: 201, snippet: '{"order":"plain żółw"}' });
});

test('a secret that cannot be read is told when the guard is made', () => {
  expect(() => new WebhookGuard({ secrets: 'hunter2' })).toThrow('signing secret cannot be read');
});

test('an application without rawBody is told so', async () => {
  const { post } = await start({});
  expect((await post('orders', { secrets: [secret] })).status).toBe(500);
  const guard = new WebhookGuard({ secrets: secret });
  const asking = (request: SignedRequest): Promise<boolean> =>
    guard.canActivate({ switchToHttp: () => ({ getRequest: () => request }) } as unknown as ExecutionContext);
  await expect(asking({ headers: { 'content-length': '2' } })).rejects.toMatchObject({
    code: 'WEBHOOK_RAW_BODY_MISSING',
    message: expect.stringContaining('rawBody: true') as string,
  });
  await expect(asking({ headers: { 'transfer-encoding': 'chunked' } })).rejects.toMatchObject({
    code: 'WEBHOOK_RAW_BODY_MISSING',
  });
});
