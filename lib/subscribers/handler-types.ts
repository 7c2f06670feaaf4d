import type { Fits, Json, Parsed } from '../values/queue-topics.js';
import type { StandardSchema } from '../values/standard-schema.js';
import type { TaskContext } from '../task.js';

/** A mistake in a handler, as the compiler shows it. */
export interface HandlerMistake<Problem extends string, Given = never, Taken = never> {
  readonly [mistake]: readonly [Problem, Given, Taken];
}
declare const mistake: unique symbol;

/**
 * A decorator of a method that takes that payload and returns that result, which JSON can hold; `never` for an unknown
 * payload. Other methods do not compile, unless `Transformed` is true.
 */
export type HandlerDecorator<Payload, Result, Transformed> = <Method extends (...args: never[]) => unknown>(
  target: [Transformed] extends [true] ? object : HandlerOf<Method, Payload, Result>,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * What a handler gets: what its schema makes of the payload, the stored text, or the payload of its topic. A mistake where no
 * payload of the topic can match the schema.
 */
export type HandlerPayload<Payload, Schema, Form> = [Schema] extends [StandardSchema]
  ? SchemaOutput<Schema, [Payload] extends [never] ? unknown : [Form] extends ['text'] ? string : Payload>
  : [Form] extends ['text']
    ? string
    : Payload;

type SchemaOutput<Schema extends StandardSchema, Payload> =
  NonNullable<Schema['~standard']['types']> extends {
    readonly input: infer Input;
    readonly output: infer Output;
  }
    ? Fits<Payload, Parsed<Input>> extends true
      ? unknown extends Output
        ? never
        : Output
      : HandlerMistake<'the schema does not accept the payload of the topic', Payload, Input>
    : never;

/** The class that has the method, or the mistake that keeps it from compiling. */
type HandlerOf<Method extends (...args: never[]) => unknown, Payload, Result> = [
  Settled<ReturnType<Method>>,
] extends [Result]
  ? IsMistake<Payload> extends true
    ? Payload
    : Recordable<Exclude<Settled<ReturnType<Method>>, void>> extends true
      ? Parameters<Method> extends readonly []
        ? object
        : Taking<Parameters<Method>, Payload>
      : HandlerMistake<
          'the handler returns a value that cannot be stored',
          Json<Exclude<Settled<ReturnType<Method>>, void>>
        >
  : HandlerMistake<
      'the handler does not return the result of its topic',
      Result,
      Settled<ReturnType<Method>>
    >;

type IsMistake<Payload> = [Payload] extends [never]
  ? false
  : unknown extends Payload
    ? false
    : Payload extends HandlerMistake<string, unknown, unknown>
      ? true
      : false;

/** True for what JSON can hold. */
type Recordable<Returned> = [Returned] extends [Json<Returned>] ? true : false;

/** More parameters, or a second one that does not take a TaskContext: their decorators say what they get. */
type Taking<Parameters extends readonly unknown[], Payload> = unknown extends Parameters[0]
  ? object
  : Parameters extends readonly [unknown?, unknown?]
    ? Parameters[0] extends TaskContext
      ? HandlerMistake<'the first parameter of a handler is the payload, the TaskContext is the second'>
      : TakesContext<Parameters> extends true
        ? [Payload] extends [Parameters[0]]
          ? object
          : HandlerMistake<
              'the first parameter of the handler does not accept the payload it receives',
              Payload,
              Parameters[0]
            >
        : object
    : object;

/** A second parameter may be a part of the context, as tests of handlers give it. */
type TakesContext<Parameters extends readonly [unknown?, unknown?]> = Parameters extends readonly [unknown?]
  ? true
  : [keyof NonNullable<Parameters[1]>] extends [never]
    ? false
    : [TaskContext] extends [Parameters[1]]
      ? true
      : false;

/** An observable's last value counts, which its type does not tell: such results are not compared. */
type Settled<Returned> =
  Awaited<Returned> extends { subscribe(observer: never): unknown } ? never : Awaited<Returned>;
