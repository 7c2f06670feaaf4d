/**
 * What to try, ready to be copied.
 *
 * @param password the staff's, or where to find it
 */
export const guide = (address: string, password: string): string => `\
  Place an order, and see what becomes of it:
    curl -d '{"customer":"Ana","items":[{"sku":"tea","quantity":2}]}' ${address}/orders
    curl ${address}/orders/1

  One that stock cannot have:
    curl -d '{"customer":"Zoë 🦄","items":[{"sku":"unicorn","quantity":1}]}' ${address}/orders

  How many orders the partner was told of, by a signed webhook:
    curl ${address}/partner/orders

  Watch the queue, as staff with ${password}:
    ${address}/queues

  Hundreds of them, followed to the end:
    npm run demo
`;
