import type { TextRow } from './answers.js';
import type { Run } from './transactions.js';

/** Named locks mean nothing to others where several servers, or several sessions of one, stand behind a connection. */
const clusterVariables = [
  'wsrep_on',
  'group_replication_group_name',
  'group_replication_single_primary_mode',
];

/**
 * Why a session cannot show that a worker lives, so that it must hold a lease; undefined where it can.
 *
 * @param greetedId the id of the connection that the server's greeting named
 */
export async function whyLease(run: Run, greetedId: number | undefined): Promise<string | undefined> {
  const names = clusterVariables.map((name) => `'${name}'`).join(', ');
  // The greeting has room for 32 bits. A proxy answers the function alone by itself, but not what is calculated with it.
  const [variables, session] = await run(
    `show global variables where variable_name in (${names}); select connection_id() & 4294967295 as id`,
  );
  const values = new Map((variables?.rows ?? []).map(readVariable));
  if (values.get('wsrep_on') === 'ON')
    return 'the server is a node of a Galera cluster, whose other nodes do not see its locks';
  if (
    values.get('group_replication_group_name') &&
    values.get('group_replication_single_primary_mode') === 'OFF'
  )
    return 'the server is one of several primaries of a replication group, which do not see each other’s locks';
  if (greetedId !== undefined && session?.rows[0]?.['id'] !== String(greetedId))
    return 'there is a proxy before the server, which may move this connection to another server';
  return undefined;
}

function readVariable(row: TextRow): readonly [name: string, value: string] {
  return [String(row['Variable_name']), String(row['Value'])];
}
