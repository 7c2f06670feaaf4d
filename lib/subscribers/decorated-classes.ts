// Which classes carry decorators of this library: a class that no module provides would be ignored silently.

/** A decorated class of this process. */
interface DecoratedClass {
  /** Names of the queues that its decorators are for. */
  readonly queues: Set<string>;
  /** True once some application of this process provides it, or a class that extends it. */
  provided: boolean;
}

// All copies of this library in a process share it, like the metadata that decorators leave on methods.
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

/** Names of a queue's decorated classes that no application of this process has provided yet. */
export function unprovidedClasses(queue: string): readonly string[] {
  return [...(holder[key] ?? [])]
    .filter(([, { queues, provided }]) => !provided && queues.has(queue))
    .map(([prototype]) => prototype.constructor.name);
}
