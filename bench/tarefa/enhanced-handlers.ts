import {
  Inject,
  Injectable,
  Scope,
  UseGuards,
  UseInterceptors,
  UsePipes,
  ValidationPipe,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { IsInt, IsString } from 'class-validator';
import { tap } from 'rxjs';
import { z } from 'zod';
import {
  isQueueContext,
  Payload as FromPayload,
  TaskHandler,
  type HandlerOptions,
  type TaskContext,
} from '../../lib/index.js';
import type { Payload } from '../protocol.js';
import type { Enhancement } from './settings.js';

type Started = (payload: Payload) => void;
type Make = (topic: string, options: HandlerOptions, started: Started) => Type;

class CheckedPayload implements Payload {
  @IsInt()
  readonly i!: number;

  @IsString()
  readonly s!: string;
}

const schema = z.object({ i: z.int(), s: z.string() });

/** Does what `ValidationPipe` does, without its rules: looks at the payload and makes an instance of its class. */
class SmallPipe implements PipeTransform {
  transform({ i, s }: Payload): CheckedPayload {
    if (!Number.isInteger(i) || typeof s !== 'string') throw new TypeError('that is no payload');
    return Object.assign(new CheckedPayload(), { i, s });
  }
}

@Injectable()
class OpenGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return isQueueContext(context) && context.switchToRpc().getContext<TaskContext>().task.attempt === 1;
  }
}

@Injectable()
class Counting implements NestInterceptor {
  #count = 0;

  intercept(_context: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(tap(() => (this.#count += 1)));
  }
}

const withPipe: Make = (topic, options, started) => {
  @Injectable()
  class Handlers {
    @TaskHandler(topic, options)
    handle(@FromPayload(SmallPipe) payload: CheckedPayload): void {
      started(payload);
    }
  }
  return Handlers;
};

const withValidationPipe: Make = (topic, options, started) => {
  @Injectable()
  class Handlers {
    @TaskHandler(topic, options)
    @UsePipes(new ValidationPipe({ transform: true }))
    handle(@FromPayload() payload: CheckedPayload): void {
      started(payload);
    }
  }
  return Handlers;
};

const withGuardAndInterceptor: Make = (topic, options, started) => {
  @Injectable()
  @UseGuards(OpenGuard)
  @UseInterceptors(Counting)
  class Handlers {
    @TaskHandler(topic, options)
    handle(payload: Payload): void {
      started(payload);
    }
  }
  return Handlers;
};

const withRequestScope: Make = (topic, options, started) => {
  @Injectable({ scope: Scope.REQUEST })
  class Handlers {
    constructor(@Inject(REQUEST) private readonly context: TaskContext) {}

    @TaskHandler(topic, options)
    handle(payload: Payload): void {
      if (this.context.task.topic === topic) started(payload);
    }
  }
  return Handlers;
};

const withSchema: Make = (topic, options, started) => {
  @Injectable()
  class Handlers {
    @TaskHandler(topic, { ...options, schema })
    handle(payload: z.infer<typeof schema>): void {
      started(payload);
    }
  }
  return Handlers;
};

/** A handler that does nothing, with what Nest puts around it; by the name of the setting. */
export const enhancedHandlers: Readonly<Record<Enhancement, Make>> = {
  '@Payload with a pipe': withPipe,
  '@Payload with ValidationPipe': withValidationPipe,
  'guard and interceptor': withGuardAndInterceptor,
  'request scope': withRequestScope,
  schema: withSchema,
};
