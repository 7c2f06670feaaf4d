/** What is published with every order; subscriptions are for this topic. */
export const orderPlaced = 'order-placed';

export interface OrderItem {
  readonly sku: string;
  readonly quantity: number;
}

/** An order as a customer sends it. */
export interface OrderInput {
  readonly customer: string;
  readonly items: readonly OrderItem[];
  readonly note?: string;
}

/** An order that was placed: the payload that every subscriber gets. */
export interface Order extends OrderInput {
  readonly id: number;
}
