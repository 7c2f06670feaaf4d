import type { QueueTables } from '../identifiers.js';
import { named } from '../statement.js';

/** Reads the payload of an attempt: its own, or the first attempt's. Parameters: id. */
export const loadPayload = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'load_payload',
    `
select coalesce(f.payload, o.payload) as payload
from ${queue} f
left join ${queue} o on o.id = f.id_inicial
where f.id = cast(? as signed)`,
  );

/** Paused routes. */
export const pausedRoutes = ({ paused }: Pick<QueueTables, 'paused'>): string =>
  named('paused_routes', `select p.route from ${paused} p`);
