import { Catch, HttpStatus, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { throwError } from 'rxjs';
import { TarefaError, type TarefaErrorCode } from '../errors.js';

/** Errors that the sender of the input has to know of, and their HTTP statuses. */
const statuses: Partial<Record<TarefaErrorCode, number>> = {
  PAYLOAD_INVALID: HttpStatus.BAD_REQUEST,
  INPUT_INVALID: HttpStatus.BAD_REQUEST,
  PAYLOAD_NOT_SERIALISABLE: HttpStatus.BAD_REQUEST,
  PAYLOAD_TOO_LARGE: HttpStatus.PAYLOAD_TOO_LARGE,
  TASK_DUPLICATE: HttpStatus.CONFLICT,
};

/** Nest chooses filters by `instanceof`: this filter gets only these errors; the others go where they went before. */
// oxlint-disable-next-line typescript/no-extraneous-class
class RefusedInput {
  static [Symbol.hasInstance](error: unknown): boolean {
    return error instanceof TarefaError && statuses[error.code] !== undefined;
  }
}

/** The responses of Express and Fastify have this in common. */
interface Response {
  readonly headersSent?: boolean | undefined;
  readonly sent?: boolean | undefined;
  status(code: number): { send(body: unknown): unknown };
}

/**
 * Answers a request whose payload a queue refuses with 400 (`PAYLOAD_INVALID`, `PAYLOAD_NOT_SERIALISABLE`,
 * `INPUT_INVALID`), 409 (`TASK_DUPLICATE`) or 413 (`PAYLOAD_TOO_LARGE`) instead of 500. Its body is
 * `{ statusCode, code, message }`. Other errors are left to other filters. Works on Express and Fastify; a message handler
 * answers with the same fields, and other contexts (GraphQL, queue handlers) get the error itself.
 *
 * @example
 * providers: [{ provide: APP_FILTER, useClass: QueueExceptionFilter }]
 *
 * @example
 * app.useGlobalFilters(new QueueExceptionFilter());
 */
@Catch(RefusedInput)
export class QueueExceptionFilter implements ExceptionFilter<TarefaError> {
  catch(error: TarefaError, host: ArgumentsHost): unknown {
    const { code, message } = error;
    const statusCode = statuses[code] ?? HttpStatus.INTERNAL_SERVER_ERROR;
    switch (host.getType<string>()) {
      case 'http': {
        const response = host.switchToHttp().getResponse<Response>();
        if (response.headersSent !== true && response.sent !== true) {
          response.status(statusCode).send({ statusCode, code, message });
        }
        return undefined;
      }
      case 'rpc':
        return throwError(() => ({ status: 'error', code, message }));
      case 'ws': {
        const client = host.switchToWs().getClient<{ emit?: (event: string, body: unknown) => unknown }>();
        client.emit?.('exception', { status: 'error', code, message });
        return undefined;
      }
      default:
        throw error;
    }
  }
}
