import type { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { ResolvedTenantOptions, TenantResolver } from '../options/tenant-options.js';
import { deadlineIn } from '../timing/deadline.js';
import type { TenantConnection, TenantPool } from './tenant-connection.js';
import type { ConnectionEnded, TenantConnections, TenantDriver } from './tenant-driver.js';
import { isSteering, messageOf, TenantRefusal, unavailable } from './tenant-error.js';
import { WaitingLine } from './waiting-line.js';

/** Connections made with one set of credentials. */
interface Opened {
  readonly connections: TenantConnections;
  /** By the monotonic clock. */
  readonly since: number;
}

/** Failures that took longer are not to be waited for by every task of the tenant. */
const slowMs = 1_000;

/** {@link TenantPool} of connections by a driver. Where the database is, is asked with the first one. */
export class DatabasePool implements TenantPool {
  readonly tenant: string;
  readonly #options: ResolvedTenantOptions;
  readonly #resolver: TenantResolver;
  readonly #driver: TenantDriver;
  /** Told that its database, or what leads there, cannot be used: once until it works again. */
  readonly #events: Pick<QueueEvents, 'emit'>;
  readonly #lent = new Set<TenantConnection>();
  readonly #line = new WaitingLine();
  /** Connections that are lent, or being opened to be lent. */
  #taken = 0;
  /** What the next connection is made with. */
  #opening: Promise<Opened> | undefined;
  /** That, and what was made with older credentials and is not all given back. */
  readonly #opened = new Map<Opened, Promise<void> | undefined>();
  #rest: { readonly error: unknown; readonly until: number } | undefined;
  #failure: string | undefined;
  #closed = false;

  constructor(
    tenant: string,
    options: ResolvedTenantOptions,
    resolve: TenantResolver,
    driver: TenantDriver,
    events: Pick<QueueEvents, 'emit'>,
  ) {
    this.tenant = tenant;
    this.#options = options;
    this.#resolver = resolve;
    this.#driver = driver;
    this.#events = events;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  get counts(): { readonly connections: number; readonly inUse: number; readonly waiting: number } {
    const connections = [...this.#opened.keys()].reduce((sum, one) => sum + one.connections.count, 0);
    return { connections, inUse: this.#lent.size, waiting: this.#line.length };
  }

  async lease(ended: () => void): Promise<TenantConnection> {
    await this.#takeTurn();
    try {
      this.#refuseWhileResting();
      return this.#lend(await this.#connect(ended));
    } catch (error) {
      this.#endTurn();
      throw error;
    }
  }

  /** Closes connections as they come back; the next ones are made with credentials that are fetched again. */
  retire(): void {
    this.#rest = undefined;
    if (this.#opening) this.#discard(this.#opening);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#line.dismiss();
    this.retire();
    for (const lent of this.#lent) lent.destroy(new Error('the connection is closing'));
    await Promise.all(
      [...this.#opened.keys()].map((opened) => {
        void this.#end(opened);
        return opened.connections.close();
      }),
    );
  }

  async #takeTurn(): Promise<void> {
    const { maxConnectionsPerTenant, waitTimeoutMs } = this.#options;
    if (this.#taken < maxConnectionsPerTenant) this.#taken += 1;
    else if (!(await this.#line.wait(waitTimeoutMs))) {
      if (this.#closed) throw closing();
      throw unavailable(
        `all ${maxConnectionsPerTenant} connections to the database of tenant ${this.tenant} were in use for ` +
          `${waitTimeoutMs} ms: raise tenantDatabases.maxConnectionsPerTenant, or make its handlers shorter`,
      );
    }
  }

  /** The next one that waits takes over. */
  #endTurn(): void {
    if (!this.#line.next()) this.#taken -= 1;
  }

  #refuseWhileResting(): void {
    if (this.#rest && performance.now() < this.#rest.until) throw this.#rest.error;
  }

  async #connect(ended: () => void): Promise<TenantConnection> {
    const begun = performance.now();
    const back = (lent: TenantConnection): void => {
      this.#lent.delete(lent);
      this.#endTurn();
      ended();
    };
    try {
      const connected = await this.#connectOnceOrTwice(back);
      this.#noteSuccess();
      return connected;
    } catch (error) {
      throw this.#noteFailure(error, performance.now() - begun);
    }
  }

  /** Credentials change: with those that are refused the next ones are fetched, once. */
  async #connectOnceOrTwice(ended: ConnectionEnded): Promise<TenantConnection> {
    const first = this.#open();
    try {
      return await connectTo(await first, ended);
    } catch (error) {
      if (!this.#driver.isRefusedLogin(error) && !isDiscarded(error)) throw error;
      this.#discard(first);
    }
    return connectTo(await this.#open(), ended);
  }

  /** One at a time, however many wait for it. */
  #open(): Promise<Opened> {
    if (!this.#opening) {
      const opening = this.#make();
      this.#opening = opening;
      opening.catch(() => {
        if (this.#opening === opening) this.#opening = undefined;
      });
    }
    return this.#opening;
  }

  async #make(): Promise<Opened> {
    const connection = await this.#resolve();
    if (this.#closed) throw closing();
    const connections = this.#driver.open(connection, this.tenant);
    const opened: Opened = { connections, since: performance.now() };
    this.#opened.set(opened, undefined);
    return opened;
  }

  async #resolve(): Promise<unknown> {
    const { resolveTimeoutMs } = this.#options;
    const aborting = new AbortController();
    const { reached, cancel } = deadlineIn(resolveTimeoutMs);
    const late = reached.then(() => {
      const error = unavailable(`where it is was not known within ${resolveTimeoutMs} ms`);
      aborting.abort(error);
      throw error;
    });
    try {
      return await Promise.race([this.#resolver(this.tenant, { signal: aborting.signal }), late]);
    } finally {
      cancel();
    }
  }

  #lend(lent: TenantConnection): TenantConnection {
    this.#lent.add(lent);
    // Its user hears of it by the first statement.
    if (this.#closed) lent.destroy(new Error('the connection is closing'));
    return lent;
  }

  #discard(opening: Promise<Opened>): void {
    if (this.#opening === opening) this.#opening = undefined;
    opening.then(
      (opened) => void this.#end(opened),
      () => undefined,
    );
  }

  /** Resolves when all its connections are given back and closed. */
  #end(opened: Opened): Promise<void> {
    const ending = this.#opened.get(opened) ?? opened.connections.end();
    this.#opened.set(opened, ending);
    void ending.then(() => this.#opened.delete(opened));
    return ending;
  }

  #noteSuccess(): void {
    this.#rest = undefined;
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#events.emit('tenant.restored', { tenant: this.tenant });
  }

  #noteFailure(error: unknown, tookMs: number): unknown {
    const { restMs } = this.#options;
    const isRefused = this.#driver.isRefusedLogin(error) || error instanceof TenantRefusal;
    const told = this.#explain(error, isRefused);
    if (this.#closed) return told;
    if (isRefused || tookMs >= slowMs) this.#rest = { error: told, until: performance.now() + restMs };
    void this.#forgetOld(this.#opening, restMs);
    const isNews = this.#failure === undefined;
    this.#failure = messageOf(told);
    if (isNews) this.#events.emit('tenant.failed', { tenant: this.tenant, message: this.#failure });
    return told;
  }

  #explain(error: unknown, isRefused: boolean): unknown {
    if (isSteering(error)) return error;
    const reason = this.#driver.isLate(error)
      ? `no connection within ${this.#options.connectTimeoutMs} ms`
      : messageOf(error);
    const what = `the database of tenant ${this.tenant} cannot be used: ${reason}`;
    return isRefused ? new TenantRefusal(what, error) : unavailable(what, error);
  }

  /** The database may have moved: where it is, is looked up again, but not for every task that fails. */
  async #forgetOld(opening: Promise<Opened> | undefined, restMs: number): Promise<void> {
    const opened = await opening?.catch(() => undefined);
    if (opening && opened && performance.now() - opened.since >= restMs) this.#discard(opening);
  }
}

function closing(): TarefaError {
  return unavailable('its connections are being closed');
}

async function connectTo({ connections }: Opened, ended: ConnectionEnded): Promise<TenantConnection> {
  if (connections.ending) throw new Discarded();
  return connections.connect(ended).catch((error: unknown) => {
    throw connections.ending ? new Discarded('', { cause: error }) : error;
  });
}

/** Another attempt has found out that these credentials do not work any more. */
class Discarded extends Error {
  override readonly message = 'its credentials were replaced twice while connecting to it';
}

function isDiscarded(error: unknown): boolean {
  return error instanceof Discarded;
}
