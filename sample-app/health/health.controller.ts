import { Controller, Get, ServiceUnavailableException } from '@nestjs/common';
import { QueueWorker } from '../../lib/index.js';
import { Database } from '../database/database.js';

/** How the shop is. */
export interface Health {
  readonly status: 'ok' | 'failing';
  readonly database: 'reachable' | 'unreachable';
  /** `none` in a process that only takes orders. */
  readonly worker: 'running' | 'stopped' | 'none';
  readonly uptimeSeconds: number;
  /** In bytes. */
  readonly memory: { readonly rss: number; readonly heapUsed: number };
}

@Controller('health')
export class HealthController {
  constructor(
    private readonly database: Database,
    private readonly worker: QueueWorker,
  ) {}

  /** 200 when all is well, else 503 with the same fields. */
  @Get()
  async check(): Promise<Health> {
    const databaseIsReachable = await this.database.query('select 1').then(
      () => true,
      () => false,
    );
    const worker = this.workerState();
    const { rss, heapUsed } = process.memoryUsage();
    const health: Health = {
      status: databaseIsReachable && worker !== 'stopped' ? 'ok' : 'failing',
      database: databaseIsReachable ? 'reachable' : 'unreachable',
      worker,
      uptimeSeconds: Math.round(process.uptime()),
      memory: { rss, heapUsed },
    };
    if (health.status !== 'ok') throw new ServiceUnavailableException(health);
    return health;
  }
  private workerState(): Health['worker'] {
    if (!this.worker.enabled) return 'none';
    return this.worker.state === 'running' ? 'running' : 'stopped';
  }
}
