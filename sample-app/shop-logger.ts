import { ConsoleLogger } from '@nestjs/common';

/** Who tells of every module and route when an application starts. */
const boot: ReadonlySet<unknown> = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/** Nest's own logger, but for the fifty lines before the welcome; warnings and errors are told whoever says them. */
export class ShopLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    if (!boot.has(rest.at(-1))) super.log(message, ...(rest as [unknown, ...string[]]));
  }
}
