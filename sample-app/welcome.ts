import { settings } from './settings.js';

/** What to try, ready to be copied. */
export const welcome = (address: string, role: 'all' | 'producer' | 'worker'): string =>
  role === 'worker' ? `A worker of the shop runs; how it is: ${address}/health\n` : welcomeToShop(address);

const welcomeToShop = (address: string): string => `
The shop is open: ${address}

  Place an order, and see what becomes of it:
    curl -d '{"customer":"Ana","items":[{"sku":"tea","quantity":2}]}' ${address}/orders
    curl ${address}/orders/1

  One that stock cannot have:
    curl -d '{"customer":"Zoë 🦄","items":[{"sku":"unicorn","quantity":1}]}' ${address}/orders

  How many orders the partner was told of, by a signed webhook:
    curl ${address}/partner/orders

  Watch the queue, as staff with the password ${settings.staffPassword}:
    ${address}/queues

  Hundreds of them, followed to the end:
    npm run demo

`;
