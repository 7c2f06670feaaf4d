import { guide } from './home/guide.js';
import { settings } from './settings.js';

/** What is printed when the shop has started. */
export const welcome = (address: string, role: 'all' | 'producer' | 'worker'): string =>
  role === 'worker'
    ? `A worker of the shop runs; how it is: ${address}/health\n`
    : `\nThe shop is open: ${address}\n\n${guide(address, `the password ${settings.staffPassword}`)}\n`;
