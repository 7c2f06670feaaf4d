import type { QueueTables } from '../identifiers.js';
import { named } from '../statement.js';
import { now } from '../sql-time.js';
import { byKey, idRows } from './held.js';

/**
 * Gives attempts back that were claimed but not started and whose rows are locked: they are pending again and keep their
 * number; those that were cancelled meanwhile end. Parameters: ids.
 */
export const release = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'release',
    `
update ${idRows}
${byKey(queue)}
set f.status = if(f.cancelada_por is null, 'pendente', 'falha'), f.executor = null, f.iniciada_em = null,
  f.finalizada_em = if(f.cancelada_por is null, null, ${now})`,
  );
