import type { NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { IncomingMessage } from 'node:http';
import { AppModule } from './app.module.js';
import { importPath } from './orders/orders.controller.js';
import { ShopLogger } from './shop-logger.js';

/** The application, ready to listen. */
export async function createShop(options: NestApplicationOptions = {}): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule, {
    logger: new ShopLogger(),
    ...options,
    bodyParser: false,
    // What the partner's guard verifies.
    rawBody: true,
  });
  // An order arrives as text, whatever its content type, so that one function reads it and says what is wrong
  // with it, be it a request or a line of an import. An import is read from the request itself, line by line.
  app.useBodyParser('text', { type: isOrder, limit: '100kb' });
  // Without this the worker is not told of SIGTERM, and its tasks wait until another one recovers them.
  app.enableShutdownHooks([], { useProcessExit: true });
  return app;
}

/** One that a customer sends, or the webhook that the partner gets; the dashboard reads its own bodies. */
function isOrder({ url = '' }: IncomingMessage): boolean {
  return /^\/(orders|partner)\b/.test(url) && !url.startsWith(importPath);
}
