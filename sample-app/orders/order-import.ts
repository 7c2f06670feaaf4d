import { BadRequestException, Injectable, Logger, ServiceUnavailableException } from '@nestjs/common';
import { OrderProblem, readOrder } from './order-input.js';
import type { OrderInput } from './order.js';
import { OrdersService } from './orders.service.js';
import { readLines, type Line } from './read-lines.js';

const batchSize = 100;
const mostErrors = 100;

/** What became of an import. */
export interface ImportReport {
  readonly imported: number;
  readonly rejected: number;
  readonly message: string;
  /** Ids of the imported orders, in the order of their lines. */
  readonly ids: readonly number[];
  /** The first hundred of the lines that were rejected. */
  readonly errors: readonly LineError[];
}

interface LineError {
  readonly line: number;
  readonly message: string;
}

/**
 * Imports orders from lines of JSON. Good lines are placed a hundred per transaction, bad ones are reported and
 * hold up nothing. No more than one batch is in memory, however many lines come.
 */
@Injectable()
export class OrderImport {
  private readonly logger = new Logger('OrderImport');

  constructor(private readonly orders: OrdersService) {}

  async run(body: AsyncIterable<Buffer>): Promise<ImportReport> {
    const ids: number[] = [];
    const errors: LineError[] = [];
    let rejected = 0;
    let batch: OrderInput[] = [];

    const placeBatch = async (): Promise<void> => {
      ids.push(...(await this.orders.placeMany(batch)).map(({ id }) => id));
      batch = [];
    };
    const report = (message: string): ImportReport => ({
      imported: ids.length,
      rejected,
      message,
      ids,
      errors,
    });

    try {
      for await (const line of readLines(body)) {
        const order = readLine(line);
        if (order instanceof OrderProblem) {
          rejected += 1;
          if (errors.length < mostErrors) errors.push({ line: line.number, message: order.message });
        } else {
          batch.push(order);
        }
        if (batch.length === batchSize) await placeBatch();
      }
      await placeBatch();
    } catch (error) {
      this.logger.error('an import was interrupted', error instanceof Error ? error.stack : String(error));
      throw new ServiceUnavailableException(report(interrupted));
    }
    if (ids.length + rejected === 0) throw new BadRequestException(nothing);
    return report(done);
  }
}

const nothing = 'there are no lines: send one order per line, with curl --data-binary @orders.ndjson';
const done =
  `Orders were imported in transactions of up to ${batchSize}; ` +
  `lines with errors were left out, and the first ${mostErrors} of them are listed.`;
const interrupted =
  'The import was interrupted: the orders listed here are placed, the rest is not. Send the rest again.';

function readLine({ text, problem }: Line): OrderInput | OrderProblem {
  if (problem !== undefined) return new OrderProblem(problem);
  try {
    return readOrder(text);
  } catch (error) {
    if (error instanceof OrderProblem) return error;
    throw error;
  }
}
