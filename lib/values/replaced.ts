/** The same object, some of whose members are others. */
export function replaced<T extends object>(whole: T, members: Partial<T>): T {
  return new Proxy(whole, {
    get(target, name) {
      if (Object.hasOwn(members, name)) return members[name as keyof T];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
