import { setImmediate } from 'node:timers/promises';
import type { ModulesContainer } from '@nestjs/core';
import { STATIC_CONTEXT } from '@nestjs/core/injector/constants.js';
import type { InstanceWrapper } from '@nestjs/core/injector/instance-wrapper.js';
import type { Module } from '@nestjs/core/injector/module.js';

/**
 * Returns true as soon as something of the application cannot be made, false once all of it is. Nest calls no hook then, and
 * hands the application to nobody: who has opened something for it has to close that.
 */
export async function cannotBeMade(container: ModulesContainer): Promise<boolean> {
  // Modules that are loaded later, by `LazyModuleLoader`, may fail without the application.
  const modules = [...container.values()];
  const watched = new Set<Promise<unknown>>();
  for (;;) {
    // Nest begins with a module's guards and controllers when its providers are there.
    await setImmediate();
    const wrappers = modules.flatMap(everythingOf);
    if (wrappers.some(hasFailed)) return true;
    const loads = wrappers.flatMap(loadOf).filter((load) => !watched.has(load));
    if (loads.length === 0) return false;
    for (const load of loads) watched.add(load);
    if (await anyFails(loads)) return true;
  }
}

function everythingOf({ providers, injectables, controllers }: Module): readonly InstanceWrapper[] {
  return [...providers.values(), ...injectables.values(), ...controllers.values()];
}

function loadOf(wrapper: InstanceWrapper): readonly Promise<unknown>[] {
  const load = statesOf(wrapper)?.get(STATIC_CONTEXT)?.donePromise;
  return load ? [load] : [];
}

/** Nest drops the state of what could not be made. */
function hasFailed(wrapper: InstanceWrapper): boolean {
  return statesOf(wrapper)?.has(STATIC_CONTEXT) === false;
}

/** Private, because its public reader never comes back in Nest 11 when the state is not there. */
function statesOf(wrapper: object): WeakMap<object, { readonly donePromise?: Promise<unknown> }> | undefined {
  const { values } = wrapper as { readonly values?: unknown };
  return values instanceof WeakMap ? values : undefined;
}

/** These promises never reject: they resolve with the error, if there is one. */
async function anyFails(loads: readonly Promise<unknown>[]): Promise<boolean> {
  const failed = loads.map(async (load) => {
    const error = await load;
    if (error !== undefined) throw error;
  });
  return Promise.all(failed).then(
    () => false,
    () => true,
  );
}
