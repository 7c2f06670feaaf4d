import { Catch, type ExceptionFilter } from '@nestjs/common';
import { ApplicationConfig, type ExternalContextCreator } from '@nestjs/core';
import { QueueExceptionFilter } from '../client/queue-exception.filter.js';
import { enhancerKinds, type EnhancerKind } from '../options/enhancer-kinds.js';

/** Global enhancers that are left out of queue handlers: what they are, and their class names. */
export interface LeftOut {
  readonly kind: EnhancerKind;
  readonly names: readonly string[];
}

/** Rethrows: without it Nest's own last filter logs every error that no other filter catches, and so does the queue. */
@Catch()
class Rethrow implements ExceptionFilter {
  catch(error: unknown): never {
    throw error;
  }
}

/**
 * The application's configuration as queue handlers see it: only with the chosen global enhancers, because most of the
 * others were written for HTTP requests.
 */
export class GlobalEnhancers extends ApplicationConfig {
  readonly #all: ApplicationConfig;
  readonly #chosen: ReadonlySet<EnhancerKind>;

  constructor(all: ApplicationConfig, chosen: readonly EnhancerKind[]) {
    super();
    this.#all = all;
    this.#chosen = new Set(chosen);
  }

  /** True when some global enhancer is to run around every handler. */
  get any(): boolean {
    return enhancerKinds.some((kind) => this.#chosen.has(kind) && namesOf(this.#all, kind).length > 0);
  }

  get filters(): boolean {
    return this.#chosen.has('filters') && namesOf(this.#all, 'filters').length > 0;
  }

  leftOut(): readonly LeftOut[] {
    return enhancerKinds
      .filter((kind) => !this.#chosen.has(kind))
      .map((kind) => ({ kind, names: namesOf(this.#all, kind, isMissed) }))
      .filter(({ names }) => names.length > 0);
  }

  override getGlobalGuards(): ReturnType<ApplicationConfig['getGlobalGuards']> {
    return this.#of('guards', () => this.#all.getGlobalGuards());
  }

  override getGlobalRequestGuards(): ReturnType<ApplicationConfig['getGlobalRequestGuards']> {
    return this.#of('guards', () => this.#all.getGlobalRequestGuards());
  }

  override getGlobalInterceptors(): ReturnType<ApplicationConfig['getGlobalInterceptors']> {
    return this.#of('interceptors', () => this.#all.getGlobalInterceptors());
  }

  override getGlobalRequestInterceptors(): ReturnType<ApplicationConfig['getGlobalRequestInterceptors']> {
    return this.#of('interceptors', () => this.#all.getGlobalRequestInterceptors());
  }

  override getGlobalPipes(): ReturnType<ApplicationConfig['getGlobalPipes']> {
    return this.#of('pipes', () => this.#all.getGlobalPipes());
  }

  override getGlobalRequestPipes(): ReturnType<ApplicationConfig['getGlobalRequestPipes']> {
    return this.#of('pipes', () => this.#all.getGlobalRequestPipes());
  }

  override getGlobalFilters(): ReturnType<ApplicationConfig['getGlobalFilters']> {
    return [new Rethrow(), ...this.#of('filters', () => this.#all.getGlobalFilters())];
  }

  override getGlobalRequestFilters(): ReturnType<ApplicationConfig['getGlobalRequestFilters']> {
    return this.#of('filters', () => this.#all.getGlobalRequestFilters());
  }

  #of<T>(kind: EnhancerKind, read: () => T[]): T[] {
    return this.#chosen.has(kind) ? read() : [];
  }
}

/** The configuration of the application's own creator, which has no public accessor. */
export function applicationConfigOf(creator: ExternalContextCreator): ApplicationConfig {
  const { guardsContextCreator } = creator as unknown as {
    guardsContextCreator?: { config?: ApplicationConfig };
  };
  return guardsContextCreator?.config ?? new ApplicationConfig();
}

/** Classes of enhancers by their names. */
function namesOf(
  config: ApplicationConfig,
  kind: EnhancerKind,
  accepts: (type: unknown) => boolean = () => true,
): readonly string[] {
  const { instances, wrappers } = readers[kind](config);
  const types = [...instances.map(({ constructor }): unknown => constructor), ...wrappers.map(typeOf)];
  return types.filter(accepts).map((type) => (typeof type === 'function' ? type.name : kind));
}

function typeOf({ metatype }: { readonly metatype?: unknown }): unknown {
  return metatype;
}

/** The filter of this library answers requests: it has nothing to do around handlers. */
function isMissed(type: unknown): boolean {
  return type !== QueueExceptionFilter;
}

interface AllOfOneKind {
  readonly instances: readonly object[];
  /** Those created for each request. */
  readonly wrappers: readonly { readonly metatype?: unknown }[];
}

const readers: Readonly<Record<EnhancerKind, (config: ApplicationConfig) => AllOfOneKind>> = {
  guards: (config) => ({ instances: config.getGlobalGuards(), wrappers: config.getGlobalRequestGuards() }),
  interceptors: (config) => ({
    instances: config.getGlobalInterceptors(),
    wrappers: config.getGlobalRequestInterceptors(),
  }),
  pipes: (config) => ({ instances: config.getGlobalPipes(), wrappers: config.getGlobalRequestPipes() }),
  filters: (config) => ({ instances: config.getGlobalFilters(), wrappers: config.getGlobalRequestFilters() }),
};
