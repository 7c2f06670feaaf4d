import type { FactoryProvider, InjectionToken, ModuleMetadata, Provider, Type } from '@nestjs/common';
import type { DashboardOptions } from './dashboard-options.js';
import { TarefaError } from '../errors.js';
import type { QueueOptions } from './queue-options.js';
import { getPartToken } from './part-token.js';

/** Options of one queue and its name, where an application has several. */
export interface QueueModuleOptions extends QueueOptions {
  /** Default `default`. */
  readonly name?: string | undefined;
  /** Serves a page that shows the queue, in applications that serve HTTP. Default: there is none. */
  readonly dashboard?: DashboardOptions | undefined;
}

/** Makes the options of a queue; for `useClass` and `useExisting`. */
export interface QueueOptionsFactory {
  createQueueOptions(): QueueOptions | Promise<QueueOptions>;
}

/** Options that are made by a provider. `name` and `dashboard` stand here: tokens, paths and guards are needed before. */
export interface QueueModuleAsyncOptions {
  readonly imports?: ModuleMetadata['imports'] | undefined;
  readonly name?: string | undefined;
  readonly dashboard?: DashboardOptions | undefined;
  readonly inject?: FactoryProvider['inject'] | undefined;
  readonly useFactory?: ((...dependencies: never[]) => QueueOptions | Promise<QueueOptions>) | undefined;
  readonly useClass?: Type<QueueOptionsFactory> | undefined;
  readonly useExisting?: InjectionToken<QueueOptionsFactory> | undefined;
}

/** What is needed of the options while modules are put together. */
export interface QueueNaming {
  readonly name?: string | undefined;
  readonly dashboard?: DashboardOptions | undefined;
}

/** Providers of the options, however they are made. */
export function asyncOptionProviders(options: QueueModuleAsyncOptions): readonly Provider[] {
  const provide = getPartToken(options.name, 'options');
  if (options.useFactory) {
    return [
      {
        provide,
        useFactory: options.useFactory as FactoryProvider['useFactory'],
        inject: options.inject ?? [],
      },
    ];
  }
  const factory = options.useExisting ?? options.useClass;
  if (!factory) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      'QueueModule.forRootAsync needs useFactory, useClass or useExisting',
    );
  }
  const ask: Provider = {
    provide,
    inject: [factory],
    useFactory: (made: QueueOptionsFactory) => made.createQueueOptions(),
  };
  return options.useClass ? [ask, options.useClass] : [ask];
}
