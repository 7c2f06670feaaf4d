import { LeaseLiveness } from '../../../lib/coordination/lease/lease-liveness.js';
import { mysqlConfig } from '../../../lib/storage/mysql/connections/mysql-config.js';
import { leaseThread } from '../../../lib/storage/mysql/connections/lease-orders.js';
import type { MysqlFlavour, MysqlTestDatabase } from '../../support/mysql.js';
import { exerciseLiveness, exerciseRelease } from '../conformance/liveness.js';
import type { OpenLiveness } from '../conformance/opened.js';
import { run } from '../conformance/run.js';
import { useProcesses, type MysqlProcess } from './mysql-processes.js';

/** What every kind of liveness promises, on one server. */
export function exerciseMysqlLiveness(
  flavour: MysqlFlavour,
  create?: (flavour: MysqlFlavour) => Promise<MysqlTestDatabase>,
): void {
  const { server, processes } = useProcesses(flavour, [{}, {}], create);
  const processOf = (index: number): MysqlProcess => processes[index] as MysqlProcess;

  const openSessions: OpenLiveness = async () => {
    await server().pool.query('truncate tasks_worker');
    const [one, other] = [processOf(0), processOf(1)];
    const { workers } = one;
    return { one: one.coordination.makeLiveness(), other: other.coordination.makeLiveness(), workers };
  };

  const openLeases: OpenLiveness = async () => {
    await server().pool.query('truncate tasks_worker');
    const { workers, access } = processOf(0);
    const { workers: table, queue } = access.tables;
    const thread = leaseThread({ config: mysqlConfig(server().url), workers: table, queue });
    const lease = (): LeaseLiveness => new LeaseLiveness(thread, workers, 0);
    return { one: lease(), other: lease(), workers };
  };

  run('liveness of a session', () => exerciseLiveness(openSessions));
  run('release of a session', () => exerciseRelease(openSessions));
  run('liveness by lease', () => exerciseLiveness(openLeases));
}
