import { PostgresServer } from './postgres-server.js';
import { RedisServer } from './redis-server.js';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The servers of one run of the benchmark. They end with it, also when it is told to stop. */
export class Servers {
  readonly postgres: PostgresServer;
  /** Undefined where it is not needed, or not installed. */
  readonly redis: RedisServer | undefined;
  /** Version, or why there is none. */
  readonly redisNote: string;
  #stopped: Promise<void> | undefined;

  /** @param options.settings of PostgreSQL, in the place of the benchmark's */
  static async start({
    withRedis,
    settings,
  }: {
    readonly withRedis: boolean;
    readonly settings?: Readonly<Record<string, string>>;
  }): Promise<Servers> {
    const postgres = await PostgresServer.start(settings);
    try {
      const redis = withRedis ? await RedisServer.start() : undefined;
      const missing = withRedis
        ? 'skipped: redis-server cannot be had'
        : 'not started: nothing chosen needs it';
      return new Servers(postgres, redis, redis ? `${redis.version}, no persistence` : missing);
    } catch (error) {
      await postgres.stop();
      throw error;
    }
  }

  private constructor(postgres: PostgresServer, redis: RedisServer | undefined, redisNote: string) {
    this.postgres = postgres;
    this.redis = redis;
    this.redisNote = redisNote;
    // Child processes end by themselves when this one does.
    for (const signal of signals)
      process.once(signal, () => void this.stop().finally(() => process.exit(130)));
  }

  get stopping(): boolean {
    return this.#stopped !== undefined;
  }

  /** May be called again. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    await this.redis?.stop();
    await this.postgres.stop();
  }
}
