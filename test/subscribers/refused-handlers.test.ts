import {
  Injectable,
  UnauthorizedException,
  UseGuards,
  UsePipes,
  ValidationPipe,
  type CanActivate,
} from '@nestjs/common';
import { IsInt } from 'class-validator';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { DeadTaskHandler, TaskHandler } from '../../lib/index.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

class RolesGuard implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

class SessionGuard implements CanActivate {
  canActivate(): Promise<boolean> {
    return Promise.reject(new UnauthorizedException());
  }
}

class Open implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

/** Runs a task of `gave-up` to the end of its dead chain; returns the last rows, and what was warned of. */
async function buried(handler: new () => object, payload: unknown = {}) {
  const { queue, events, close } = await bench.start({ handlers: [handler], maxAttempts: 1 });
  const warned = nextEvent(events, 'warning', ({ message }) => message.includes('manual intervention'));
  const id = await queue.insertTask({ topic: 'gave-up', payload });
  const [live, dead] = await bench.endedChain(id, 2);
  const { message: warning } = await warned;
  await close();
  return { live, dead, warning, id };
}

test('a guard that refuses is named, and the error keeps what the guard has thrown', async () => {
  @Injectable()
  class Guarded {
    @TaskHandler('roles')
    @UseGuards(Open, RolesGuard)
    roles(): void {}
    @TaskHandler('session')
    @UseGuards(SessionGuard)
    session(): void {}
    @TaskHandler('unnamed')
    @UseGuards({ canActivate: () => false })
    unnamed(): void {}
  }
  const { queue, events } = await bench.start({ handlers: [Guarded], maxAttempts: 1 });
  for (const [topic, message, cause] of [
    ['roles', 'Forbidden resource: the guard RolesGuard refused Guarded.roles', 'ForbiddenException'],
    ['session', 'Unauthorized: the guard SessionGuard refused Guarded.session', 'UnauthorizedException'],
    ['unnamed', 'Forbidden resource: a guard refused Guarded.unnamed', 'ForbiddenException'],
  ] as const) {
    const failed = nextEvent(events, 'task.failed');
    const id = await queue.insertTask({ topic });
    expect(await bench.ended(id)).toMatchObject({ mensagem: `${message} (no attempts left)` });
    expect(await failed).toMatchObject({ error: { code: 'HANDLER_REFUSED', cause: { name: cause } } });
  }
});

test('a guard that fails otherwise is no refusal: its error stays, and the dead handler is tried again', async () => {
  let asked = 0;
  const ran: string[] = [];
  @Injectable()
  @UseGuards({
    canActivate: () => {
      asked += 1;
      if (asked <= 2) throw new Error('the directory is down');
      return true;
    },
  })
  class Guarded {
    @TaskHandler('gave-up', { maxAttempts: 1 })
    live(): void {}
    @DeadTaskHandler('gave-up', { maxAttempts: 2, retryDelayMs: 0 })
    dead(): void {
      ran.push('dead');
    }
  }
  const { queue } = await bench.start({ handlers: [Guarded] });
  const attempts = await bench.endedChain(await queue.insertTask({ topic: 'gave-up' }), 3);
  expect(attempts.map(({ status }) => status)).toEqual(['falha', 'falha', 'sucesso']);
  expect(attempts[1]?.mensagem).toBe('the directory is down (will be tried again)');
  expect(ran).toEqual(['dead']);
});

test('a dead task whose handler the guard of its class refuses gets the default treatment, and its warning', async () => {
  @Injectable()
  @UseGuards(RolesGuard)
  class Guarded {
    @TaskHandler('gave-up')
    live(): void {}
    @DeadTaskHandler('gave-up', { maxAttempts: 100, retryDelayMs: 0 })
    dead(): void {}
  }
  const { live, dead, warning, id } = await buried(Guarded);
  expect(live?.mensagem).toContain('the guard RolesGuard refused Guarded.live');
  const message =
    `manual intervention is needed: topic 'gave-up' gave up, and Guarded.dead was not allowed to run: ` +
    `Forbidden resource: the guard RolesGuard refused Guarded.dead`;
  expect(dead).toMatchObject({ status: 'sucesso', tentativa: 1, mensagem: message });
  expect(warning).toBe(`task ${id}: ${message}`);
});

test('so does one whose payload a pipe of the class refuses, or the schema of the dead handler', async () => {
  class Order {
    @IsInt()
    id!: number;
  }
  @Injectable()
  @UsePipes(ValidationPipe)
  class Piped {
    @TaskHandler('gave-up')
    live(_order: Order): void {}
    @DeadTaskHandler('gave-up', { maxAttempts: 3 })
    dead(_order: Order): void {}
  }
  @Injectable()
  class Checked {
    @TaskHandler('gave-up')
    live(): void {
      throw new Error('of the handler');
    }
    @DeadTaskHandler('gave-up', { maxAttempts: 3, schema: z.object({ id: z.number() }) })
    dead(): void {}
  }
  const payload = { id: 'x' };
  for (const [handler, why] of [
    [Piped, 'the payload was refused by ValidationPipe: id must be an integer number'],
    [Checked, 'the payload is invalid: id: '],
  ] as const) {
    const { dead, warning, id } = await buried(handler, payload);
    const message = `topic 'gave-up' gave up, and ${handler.name}.dead was not allowed to run: ${why}`;
    expect(dead).toMatchObject({ status: 'sucesso', mensagem: expect.stringContaining(message) as unknown });
    expect(warning).toContain(`task ${id}: manual intervention is needed: ${message}`);
  }
});

test('a dead handler that throws the same itself is not refused: it fails', async () => {
  @Injectable()
  class Failing {
    @TaskHandler('gave-up', { maxAttempts: 1 })
    live(): void {
      throw new Error('of the handler');
    }
    @DeadTaskHandler('gave-up', { maxAttempts: 1 })
    @UseGuards(Open)
    dead(): void {
      throw new UnauthorizedException('of the dead handler');
    }
  }
  const { queue } = await bench.start({ handlers: [Failing] });
  const [, dead] = await bench.endedChain(await queue.insertTask({ topic: 'gave-up' }), 2);
  expect(dead).toMatchObject({ status: 'falha', mensagem: 'of the dead handler (no attempts left)' });
});
