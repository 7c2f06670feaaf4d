import { TarefaError } from '../errors.js';

/** A handler was not called, because its guard, its pipe or its schema has refused. */
export class HandlerRefusal extends TarefaError {
  constructor(code: 'HANDLER_REFUSED' | 'PAYLOAD_INVALID', message: string, cause: unknown) {
    super(code, message, { cause });
  }
}
