// Which classes carry decorators of this library: a class that no module provides would be ignored silently, and so would
// a decorator whose method was replaced.

/** A decorator where it was written. */
export interface Decoration {
  /** As users write it: `@TaskHandler('a')`. */
  readonly decorator: string;
  /** Undefined for one of the class. */
  readonly method: string | undefined;
  readonly queue: string;
}

/** A decorated class of this process. */
interface DecoratedClass {
  readonly decorations: Decoration[];
  /** True once some application of this process provides it, or a class that extends it. */
  provided: boolean;
}

// All copies of this library in a process share it, like the metadata that decorators leave on methods.
const key = Symbol.for('nestjs-tarefa:decorated-classes');
const holder = globalThis as { [key]?: Map<object, DecoratedClass> };

/**
 * Writes down what decorates a class, or a method of it.
 *
 * @param prototype of the class
 */
export function noteDecorated(prototype: object, decoration: Decoration): void {
  const classes = (holder[key] ??= new Map());
  const known = classes.get(prototype);
  if (known) known.decorations.push(decoration);
  else classes.set(prototype, { decorations: [decoration], provided: false });
}

/** What was written on that class itself. */
export function decorationsOf(prototype: object): readonly Decoration[] {
  return holder[key]?.get(prototype)?.decorations ?? [];
}

/** Writes down that an application provides these instances. */
export function noteProvided(prototypes: Iterable<object>): void {
  for (const prototype of prototypes) {
    for (const one of withParents(prototype)) {
      const known = holder[key]?.get(one);
      if (known) known.provided = true;
    }
  }
}

/** Names of a queue's decorated classes that no application of this process has provided yet. */
export function unprovidedClasses(queue: string): readonly string[] {
  return [...(holder[key] ?? [])]
    .filter(([, { decorations, provided }]) => !provided && decorations.some((one) => one.queue === queue))
    .map(([prototype]) => prototype.constructor.name);
}

/** A prototype, and those that it inherits from, nearest first. */
export function* withParents(prototype: object): Iterable<object> {
  for (let one: object | null = prototype; one; one = Object.getPrototypeOf(one) as object | null) yield one;
}
