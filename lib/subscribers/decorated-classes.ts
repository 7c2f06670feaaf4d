// Which classes carry decorators of this library: a class that no module provides would be ignored without a word.

/** What is known of a decorated class in this process. */
interface DecoratedClass {
  /** Names of the queues that its decorators are for. */
  readonly queues: Set<string>;
  /** True once some application of this process provides it, or a class that extends it. */
  provided: boolean;
}

// One for every copy of this library that a process may hold, as for what decorators leave on methods.
const key = Symbol.for('nestjs-tarefa:decorated-classes');
const holder = globalThis as { [key]?: Map<object, DecoratedClass> };

/**
 * Writes down that a class is decorated.
 *
 * @param prototype of the class
 */
export function noteDecorated(prototype: object, queue: string): void {
  const classes = (holder[key] ??= new Map());
  const known = classes.get(prototype);
  if (known) known.queues.add(queue);
  else classes.set(prototype, { queues: new Set([queue]), provided: false });
}

/** Writes down that an application provides these instances. */
export function noteProvided(prototypes: Iterable<object>): void {
  for (const prototype of prototypes) {
    for (let one: object | null = prototype; one; one = Object.getPrototypeOf(one) as object | null) {
      const known = holder[key]?.get(one);
      if (known) known.provided = true;
    }
  }
}

/** Names of the decorated classes for a queue that no application of this process has provided so far. */
export function unprovidedClasses(queue: string): readonly string[] {
  return [...(holder[key] ?? [])]
    .filter(([, { queues, provided }]) => !provided && queues.has(queue))
    .map(([prototype]) => prototype.constructor.name);
}
