import type { OrderInput, OrderItem } from './order.js';

const most = {
  customer: 200,
  items: 1_000,
  sku: 64,
  note: 2_000,
  quantity: Number.MAX_SAFE_INTEGER,
} as const;

/** Says what is wrong with an order, and what to do about it. */
export class OrderProblem extends Error {
  override readonly name = 'OrderProblem';
}

/**
 * Reads an order from its JSON.
 *
 * @throws {OrderProblem} naming the first thing that is wrong
 */
export function readOrder(json: string): OrderInput {
  const { customer, items, note, ...others } = readObject('an order', parse(json));
  refuseOthers('an order', others, 'customer, items and, if you like, note');
  return {
    customer: readText('customer', customer, most.customer),
    items: readItems(items),
    ...(note === undefined ? {} : { note: readNote(note) }),
  };
}

function readItems(items: unknown): OrderItem[] {
  if (!Array.isArray(items) || items.length === 0 || items.length > most.items) {
    const got = Array.isArray(items) ? `${items.length} of them` : show(items);
    throw new OrderProblem(
      `items must be a list of 1 to ${most.items}, like [{ "sku": "tea", "quantity": 2 }]; got ${got}`,
    );
  }
  return items.map((item, index) => readItem(`items[${index}]`, item));
}

function readItem(name: string, item: unknown): OrderItem {
  const { sku, quantity, ...others } = readObject(name, item);
  refuseOthers(name, others, 'sku and quantity');
  return {
    sku: readText(`${name}.sku`, sku, most.sku),
    quantity: readQuantity(`${name}.quantity`, quantity),
  };
}

function readQuantity(name: string, quantity: unknown): number {
  if (Number.isSafeInteger(quantity) && Number(quantity) >= 1) return Number(quantity);
  throw new OrderProblem(`${name} must be a whole number from 1 to ${most.quantity}; got ${show(quantity)}`);
}

function readNote(note: unknown): string {
  if (note === '') return note;
  return readText('note', note, most.note, ', or left out');
}

function readText(name: string, text: unknown, longest: number, otherwise = ''): string {
  if (typeof text !== 'string' || text.trim() === '' || text.length > longest) {
    throw new OrderProblem(
      `${name} must be text of 1 to ${longest} characters${otherwise}; got ${show(text)}`,
    );
  }
  // What PostgreSQL cannot store: NUL, and halves of characters such as a cut emoji.
  if (/[\0\p{Surrogate}]/u.test(text)) {
    throw new OrderProblem(`${name} must not hold NUL or half of a character; got ${show(text)}: remove it`);
  }
  return text;
}

function readObject(name: string, value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new OrderProblem(`${name} must be a JSON object; got ${show(value)}`);
}

function refuseOthers(name: string, others: object, fields: string): void {
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw new OrderProblem(`${name} has no field ${show(other)}: it has ${fields}`);
  }
}

function parse(json: string): unknown {
  if (json.trim() === '') throw new OrderProblem(`there is nothing: send ${example}`);
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new OrderProblem(`this is not JSON (${(error as Error).message}): send ${example}`);
  }
}

const example = '{ "customer": "Ana", "items": [{ "sku": "tea", "quantity": 2 }] }';

/** A value as it was sent, cut when it is long. */
function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
