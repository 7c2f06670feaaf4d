/**
 * Payloads by topic, for the compiler: inserts and handlers of these topics then take no other payload. Empty until an
 * application adds to it. Payloads are what JSON holds; what it makes text of, such as a `Date`, arrives as text.
 *
 * @example
 * declare module 'nestjs-tarefa' {
 *   interface QueueTopics {
 *     'order-placed': { id: number; total: number };
 *   }
 * }
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface QueueTopics {}

/**
 * What handlers of a topic return, by topic: the compiler then refuses others. Empty until an application adds to it.
 *
 * @example
 * declare module 'nestjs-tarefa' {
 *   interface QueueResults {
 *     'count-stock': { sku: string; left: number };
 *   }
 * }
 * const { returned } = await admin.waitFor<TopicResult<'count-stock'>>(id);
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface QueueResults {}

/**
 * Topics by subscription, for the compiler: `@Subscriber` and `@DeadSubscriber` of these ids then take the payload of that
 * topic only. Empty until an application adds to it.
 *
 * @example
 * declare module 'nestjs-tarefa' {
 *   interface QueueSubscriptions {
 *     'search-index': 'order-placed';
 *   }
 * }
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface QueueSubscriptions {}

/**
 * How strict the compiler is. With `strictTopics: true` no other topics than those of {@link QueueTopics} can be written, and
 * where {@link QueueSubscriptions} has ids, no others.
 *
 * @example
 * declare module 'nestjs-tarefa' {
 *   interface QueueTypes {
 *     strictTopics: true;
 *   }
 * }
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface QueueTypes {}

type IsStrict = QueueTypes extends { readonly strictTopics: true } ? true : false;
/** Any text; editors still offer the names beside it. */
type AnyText = string & Record<never, never>;
type ListedTopic = Extract<keyof QueueTopics, string>;
type ListedSubscription = Extract<keyof QueueSubscriptions, string>;

/** What may be written as a topic: any text, or with `strictTopics` those of {@link QueueTopics}. */
// oxlint-disable-next-line typescript/no-redundant-type-constituents
export type TopicName = IsStrict extends true ? ListedTopic : ListedTopic | AnyText;

/** Something for some topics. */
export type ByTopic<T> = IsStrict extends true
  ? { readonly [Topic in ListedTopic]?: T | undefined }
  : Readonly<Record<string, T | undefined>>;

/** What may be written as the id of a subscription. */
export type SubscriptionName = IsStrict extends true
  ? [ListedSubscription] extends [never]
    ? string
    : ListedSubscription
  : // oxlint-disable-next-line typescript/no-redundant-type-constituents
    ListedSubscription | AnyText;

/** The payload of a topic as it is inserted: what {@link QueueTopics} says, else anything. */
export type TopicPayload<Topic> = Topic extends keyof QueueTopics ? QueueTopics[Topic] : unknown;

/** What the handler of a topic gets: the payload, read back from JSON. Anything where the topic is not listed. */
export type ReceivedPayload<Topic> = Topic extends keyof QueueTopics ? Received<QueueTopics[Topic]> : never;

/** What the handler of a topic returns: what {@link QueueResults} says, else anything. */
export type TopicResult<Topic> = [Topic] extends [keyof QueueResults]
  ? [Topic] extends [never]
    ? unknown
    : QueueResults[Topic]
  : unknown;

/** The topic of a subscription, where {@link QueueSubscriptions} says it. */
export type SubscriptionTopic<Id> = Id extends keyof QueueSubscriptions
  ? Extract<QueueSubscriptions[Id], TopicName>
  : never;

/** The listed topics whose payload JSON can hold. */
export type StorableTopic = {
  [Topic in ListedTopic]: QueueTopics[Topic] extends Json<QueueTopics[Topic]> ? Topic : never;
}[ListedTopic];

declare const problem: unique symbol;

/** Stands where a value cannot be stored, and says why. */
export interface NotJson<Problem extends string> {
  readonly [problem]: Problem;
}

type AnyFunction = ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown);
interface WritesItself {
  toJSON(key?: never): unknown;
}

type Plain = string | number | boolean | null | undefined;
/** What is JSON already: recursive types, such as a column of Prisma has, are looked at no further. */
type Nested<Leaf> = Leaf | readonly Nested<Leaf>[] | { readonly [key: string]: Nested<Leaf> };

/** A type as it is where JSON can hold it; where not, {@link NotJson}. */
export type Json<T> = unknown extends T
  ? T
  : T extends Nested<Plain | WritesItself>
    ? T
    : T extends bigint
      ? NotJson<'a BigInt cannot be written as JSON: make it text'>
      : T extends symbol
        ? NotJson<'a symbol cannot be written as JSON'>
        : T extends AnyFunction
          ? NotJson<'a function cannot be written as JSON'>
          : { [Key in keyof T]: Key extends symbol ? T[Key] : Json<T[Key]> };

/** A type from which the compiler infers nothing, so unions stay whole. */
export type Fixed<T> = [T][T extends unknown ? 0 : never];

/** What a program reads back of what it wrote as JSON. */
export type Parsed<T> = unknown extends T
  ? T
  : T extends Nested<Plain>
    ? T
    : T extends { toJSON(key?: never): infer Written }
      ? Parsed<Written>
      : T extends readonly unknown[]
        ? { [Index in keyof T]: Parsed<T[Index]> }
        : { [Key in keyof T as Key extends symbol ? never : Stored<T[Key], Key>]: Parsed<T[Key]> };

/**
 * False where nothing of one type is taken as the other: a field is of another kind, or one that is needed is not there. Types that
 * are made of themselves are compared a few levels deep.
 */
export type Fits<Given, Taken, Level extends 1[] = []> = Level['length'] extends 5
  ? true
  : unknown extends Given | Taken
    ? true
    : true extends PairFits<Given, Taken, Level>
      ? true
      : false;

/** Of unions each member with each. */
type PairFits<Given, Taken, Level extends 1[]> = Given extends unknown
  ? Taken extends unknown
    ? Given extends Taken
      ? true
      : Taken extends Given
        ? true
        : [Given, Taken] extends [readonly (infer One)[], readonly (infer Other)[]]
          ? Fits<One, Other, [...Level, 1]>
          : [Given, Taken] extends [object, object]
            ? FieldsFit<Given, Taken, Level>
            : false
    : never
  : never;

type FieldsFit<Given, Taken, Level extends 1[]> = [NeededKey<Taken>] extends [keyof Given]
  ? false extends {
      [Key in keyof Given & keyof Taken]-?: Fits<Given[Key], Taken[Key], [...Level, 1]>;
    }[keyof Given & keyof Taken]
    ? false
    : true
  : false;

type NeededKey<T> = { [Key in keyof T]-?: {} extends Pick<T, Key> ? never : Key }[keyof T];

/** JSON leaves functions and symbols out. */
type Stored<Value, Key> = Value extends AnyFunction | symbol ? never : Key;

/** A payload other than an object is stored as its text, and arrives as that. */
type Received<T> = unknown extends T
  ? never
  : T extends string
    ? T
    : T extends number | boolean
      ? `${T}`
      : T extends null | undefined
        ? null
        : Parsed<T>;
