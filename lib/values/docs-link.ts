import type { TarefaErrorCode } from '../errors.js';

/** Where the documents are: they come with the package, so they are those of this version and there without a network. */
const docs = 'node_modules/nestjs-tarefa/docs';

/** What an error of that code means and what to do, as a path that terminals and editors open. */
export function errorLink(code: TarefaErrorCode): string {
  return `${docs}/reference/errors.md#${code.toLowerCase()}`;
}

/** What bundlers leave out, and how to keep it. */
export function bundlersLink(): string {
  return `${docs}/limits.md#bundlers`;
}

/** How tests leave the tables of a running application alone. */
export function cleaningLink(): string {
  return `${docs}/guides/testing.md#between-tests`;
}

/** What to do about handlers that block the event loop. */
export function eventLoopLink(): string {
  return `${docs}/event-loop.md#a-handler-that-computes`;
}

/** A heading of the deployment guide, which says what roles need. */
export function rolesLink(): string {
  return `${docs}/guides/deployment.md#roles`;
}
