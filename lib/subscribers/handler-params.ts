import 'reflect-metadata';
import { assignMetadata, type PipeTransform, type Type } from '@nestjs/common';

/** Where Nest keeps what parameter decorators say; those made by `createParamDecorator` write there as well. */
const routeArguments = '__routeArguments__';
/** Where parameters are described of methods without any parameter decorator. */
const plainArguments = 'nestjs-tarefa:arguments';
const contextIndexes = 'nestjs-tarefa:ctx';

/** Nest's number for the body of a request: pipes such as `ValidationPipe` look at parameters of that kind. */
const bodyType = 3;

/** A pipe of Nest: a class, or an instance. */
export type Pipe = Type<PipeTransform> | PipeTransform;

/**
 * The payload, or one property of it, through pipes.
 *
 * @example
 * @TaskHandler('send-receipt')
 * async receipt(@Payload('orderId', ParseIntPipe) orderId: number, @Ctx() ctx: TaskContext) {}
 */
export function Payload(property: string, ...pipes: Pipe[]): ParameterDecorator;
export function Payload(...pipes: Pipe[]): ParameterDecorator;
export function Payload(...given: (string | Pipe)[]): ParameterDecorator {
  const [property] = given;
  const name = typeof property === 'string' ? property : undefined;
  const pipes = given.filter((one): one is Pipe => typeof one !== 'string');
  return (target, method, index) => {
    if (method === undefined) throw new TypeError('@Payload() belongs on a parameter of a handler method');
    const present = readArguments(target.constructor, method);
    Reflect.defineMetadata(
      routeArguments,
      assignMetadata(present, bodyType, index, name, ...pipes),
      target.constructor,
      method,
    );
  };
}

/** The `TaskContext`, in a method whose parameters are decorated. No pipe sees it. */
export function Ctx(): ParameterDecorator {
  return (target, method, index) => {
    if (method === undefined) throw new TypeError('@Ctx() belongs on a parameter of a handler method');
    const present = readContextIndexes(target.constructor, method);
    Reflect.defineMetadata(contextIndexes, [...present, index], target.constructor, method);
  };
}

/** How the arguments of a method are made. */
export interface HandlerArguments {
  /** Key under which Nest finds the positions of arguments. */
  readonly metadataKey: string;
  /** Positions of the `TaskContext`. */
  readonly contextAt: readonly number[];
  /** True when some parameter is decorated; otherwise the method takes payload and context. */
  readonly decorated: boolean;
}

/** Reads the parameter decorators of a method; without any, its parameters are the payload and the context. */
export function argumentsOf(type: object, method: string): HandlerArguments {
  const contextAt = readContextIndexes(type, method);
  const decorated = contextAt.length > 0 || Object.keys(readArguments(type, method)).length > 0;
  if (decorated) return { metadataKey: routeArguments, contextAt, decorated };
  Reflect.defineMetadata(plainArguments, assignMetadata({}, bodyType, 0), type, method);
  return { metadataKey: plainArguments, contextAt: [1], decorated };
}

/** Passes the payload, or a property of it, to `@Payload()` parameters. */
export const paramsFactory = {
  exchangeKeyForValue(type: number | string, property: unknown, [payload]: readonly unknown[]): unknown {
    if (type !== bodyType) return null;
    if (typeof property !== 'string') return payload;
    return (payload as Record<string, unknown> | null | undefined)?.[property];
  },
};

type RouteArguments = Record<string, unknown>;

function readArguments(type: object, method: string | symbol): RouteArguments {
  return (Reflect.getMetadata(routeArguments, type, method) as RouteArguments | undefined) ?? {};
}

function readContextIndexes(type: object, method: string | symbol): readonly number[] {
  return (Reflect.getMetadata(contextIndexes, type, method) as number[] | undefined) ?? [];
}
