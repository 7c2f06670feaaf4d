import type { TaskStatus } from '../../../task.js';
import { recordFields, statusCondition } from '../../columns.js';
import { keyOrder } from '../schema/schema.js';

/**
 * Attempts equal to a task: same payload, external key, origin, destination, topic, tenant and group, where no
 * value equals only no value. Parameters: external key, hash, origin, destination, topic, tenant, group.
 *
 * The statuses stand in the text, so that the planner can prove the index `equivalent` for the default ones;
 * with others the table is read. The payload of a later attempt is that of the first one.
 *
 * @param queue quoted table name
 */
export function listEquivalent(queue: string, statuses: readonly TaskStatus[]): string {
  const payload = `coalesce(f.payload, (select first.payload from ${queue} first where first.id = f.id_inicial))`;
  return `-- name: list_equivalent
select ${recordFields('f', payload)}
from ${queue} f
where f.chave_externa = $1::text ${keyOrder} and f.payload_hash = convert_to($2::text, 'UTF8') and ${statusCondition('f', statuses)}
  and f.origem is not distinct from $3::text and f.destino is not distinct from $4::text
  and f.processo is not distinct from $5::text and f.tenant is not distinct from $6::text::bigint
  and f.grupo_empresarial is not distinct from $7::text
order by f.id`;
}
