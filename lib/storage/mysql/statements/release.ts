import type { QueueTables } from '../identifiers.js';
import { named } from '../statement.js';
import { byKey, idRows } from './held.js';

/**
 * Gives attempts back that were claimed but not started and whose rows are locked: they are pending again and keep their
 * number. Parameters: ids.
 */
export const release = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'release',
    `
update ${idRows}
${byKey(queue)}
set f.status = 'pendente', f.executor = null, f.iniciada_em = null`,
  );
