/** Some fields of an object; an undefined one is not given. */
export type Some<T> = { readonly [Key in keyof T]?: T[Key] | undefined };

/** What is left of it. */
type Given<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** What is undefined or, where types are not checked, null was not given. */
export function withoutUnset<T extends object>(given: T): Given<T> {
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  ) as Given<T>;
}
