import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { debianFile } from './debian-tool.js';
import { findFreePort } from './free-port.js';
import { startMysqlCluster, type MysqlCluster } from './mysql-cluster.js';

/** A cluster of two nodes of MariaDB, on loopback. */
export interface GaleraCluster {
  readonly nodes: readonly [MysqlCluster, MysqlCluster];
  stop(): Promise<void>;
}

/** Both begin with the same system tables, so that the second needs no copy of the first. */
export async function startGalera(): Promise<GaleraCluster> {
  const folder = await mkdtemp(join(tmpdir(), `tarefa-galera-${process.pid}-`));
  // Servers may run as another user, who may not come into the folder of this project.
  await chmod(folder, 0o755);
  const provider = join(folder, 'libgalera_smm.so');
  await copyFile((await debianFile('usr/lib/libgalera_smm.so', ['galera-4'])).path, provider);
  const ports = [await findFreePort(), await findFreePort()];
  const address = `gcomm://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`;
  const started: MysqlCluster[] = [];
  const start = async (index: number, position?: string): Promise<MysqlCluster> => {
    const receiver = await findFreePort();
    const home = join(folder, String(index));
    await mkdir(home);
    await chmod(home, 0o777);
    if (position !== undefined) {
      const [uuid, seqno] = position.split(':');
      const state = join(home, 'grastate.dat');
      await writeFile(
        state,
        `# GALERA saved state\nversion: 2.1\nuuid: ${uuid}\nseqno: ${seqno}\nsafe_to_bootstrap: 0\n`,
      );
      await chmod(state, 0o666);
    }
    const node = await startMysqlCluster('mariadb', [
      'binlog-format=ROW',
      'innodb-autoinc-lock-mode=2',
      'wsrep-on=ON',
      `wsrep-provider=${provider}`,
      'wsrep-sst-method=skip',
      'wsrep-node-address=127.0.0.1',
      `wsrep-cluster-address=${address}`,
      `wsrep-provider-options=base_port=${ports[index]};gmcast.listen_addr=tcp://127.0.0.1:${ports[index]};ist.recv_addr=127.0.0.1:${receiver}`,
      `wsrep-data-home-dir=${home}`,
      ...(position === undefined ? ['wsrep-new-cluster'] : []),
    ]);
    started.push(node);
    return node;
  };
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((node) => node.stop()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const first = await start(0);
    return { nodes: [first, await start(1, await positionOf(first))], stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What a node has committed last: the number of the cluster's history, and how far in it. */
async function positionOf({ url }: MysqlCluster): Promise<string> {
  const connection = await createConnection(url);
  const [rows] = await connection.query<RowDataPacket[]>(
    "show status where variable_name in ('wsrep_cluster_state_uuid', 'wsrep_last_committed')",
  );
  await connection.end();
  const values = new Map(rows.map((row) => [String(row['Variable_name']), String(row['Value'])]));
  return `${values.get('wsrep_cluster_state_uuid')}:${values.get('wsrep_last_committed')}`;
}
