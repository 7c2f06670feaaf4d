import { Client } from 'pg';

/** What a {@link NsjWorker} does with a task: statements on a connection of its own, in a transaction. */
export type NsjHandler = (task: NsjTask, connection: Client) => Promise<string>;

export interface NsjTask {
  readonly id: string;
  readonly processo: string;
  readonly tentativa: number;
  readonly payload: string | null;
}

const maxAttempts = 3;
/** What every row of a chain carries. */
const copied = 'origem, destino, processo, chave_externa, tenant, grupo_empresarial, payload_hash';

/**
 * A worker that behaves as those of nsj-queue-lib do: it selects what is due, locks a task by `pg_try_advisory_lock` of
 * its bare id, reads it again, marks it in a commit of its own, runs it on another connection and writes its end by the
 * id alone. Its retry job takes a running task that nobody has locked for a crashed one.
 */
export class NsjWorker {
  readonly #url: string;
  readonly #handler: NsjHandler;
  readonly #main: Client;
  readonly #jobs: Client;
  readonly #open = new Set<Client>();
  /** Tasks it has run, in order, with the number of the attempt. */
  readonly ran: string[] = [];

  private constructor(url: string, handler: NsjHandler, main: Client, jobs: Client) {
    this.#url = url;
    this.#handler = handler;
    this.#main = main;
    this.#jobs = jobs;
  }

  static async start(url: string, handler: NsjHandler): Promise<NsjWorker> {
    const [main, jobs] = [new Client(url), new Client(url)];
    for (const client of [main, jobs]) {
      client.on('error', () => undefined);
      await client.connect();
    }
    return new NsjWorker(url, handler, main, jobs);
  }

  /** Runs what is due, one after the other; answers how many. */
  async drain(): Promise<number> {
    const { rows } = await this.#main.query<{ id: string }>(
      `select id from tasks where status = 'pendente' and tentativa <= $1 and data_hora <= clock_timestamp()
       order by prioridade desc, data_hora`,
      [maxAttempts],
    );
    let count = 0;
    for (const { id } of rows) if (await this.#execute(id)) count += 1;
    return count;
  }

  /** The job that makes what is due pending. */
  async promote(): Promise<void> {
    await this.#jobs.query(
      `update tasks set status = 'pendente' where status = 'agendada' and data_hora <= clock_timestamp()`,
    );
  }

  /** The retry job; answers the tasks that it took for crashed. */
  async retryCrashed(): Promise<readonly string[]> {
    const { rows } = await this.#jobs.query<{ id: string }>(
      `select id from tasks where status = 'processando'`,
    );
    const crashed: string[] = [];
    for (const { id } of rows) {
      if (!(await lock(this.#jobs, id))) continue;
      try {
        const { rows: again } = await this.#jobs.query(
          `select from tasks where id = $1 and status = 'processando'`,
          [id],
        );
        if (again.length === 0) continue;
        await this.#fail(this.#jobs, id, 'falha_processando', 'aborted abruptly');
        crashed.push(id);
      } finally {
        await unlock(this.#jobs, id);
      }
    }
    return crashed;
  }

  /** As `kill -9` does it: every connection is gone, nothing was said. */
  kill(): void {
    for (const client of [this.#main, this.#jobs, ...this.#open]) client.connection.stream.destroy();
  }

  async stop(): Promise<void> {
    for (const client of [this.#main, this.#jobs]) await client.end().catch(() => undefined);
  }

  async #execute(id: string): Promise<boolean> {
    if (!(await lock(this.#main, id))) return false;
    try {
      const { rows } = await this.#main.query<NsjTask>(
        `select t.id, t.processo, t.tentativa, coalesce(t.payload, f.payload) as payload
         from tasks t left join tasks f on f.id = t.id_inicial
         where t.id = $1 and t.status = 'pendente'`,
        [id],
      );
      const [task] = rows;
      if (!task) return false;
      await this.#main.query(`update tasks set status = 'processando' where id = $1`, [id]);
      await this.#run(task);
      return true;
    } finally {
      await unlock(this.#main, id);
    }
  }

  async #run(task: NsjTask): Promise<void> {
    this.ran.push(`${task.processo} ${task.tentativa}`);
    const own = new Client(this.#url);
    own.on('error', () => undefined);
    this.#open.add(own);
    await own.connect();
    try {
      await own.query('begin');
      const message = await this.#handler(task, own);
      await own.query(`update tasks set status = 'sucesso', mensagem = $2 where id = $1`, [task.id, message]);
      await own.query('commit');
    } catch (error) {
      await own.query('rollback').catch(() => undefined);
      await this.#fail(this.#main, task.id, 'falha', String(error));
    } finally {
      this.#open.delete(own);
      await own.end().catch(() => undefined);
    }
  }

  /** Ends an attempt and files the next one, or starts the dead chain. */
  async #fail(client: Client, id: string, status: string, message: string): Promise<void> {
    await client.query('begin');
    try {
      const { rows } = await client.query<{ tentativa: number }>(
        'select tentativa from tasks where id = $1',
        [id],
      );
      const isLast = (rows[0]?.tentativa ?? 0) >= maxAttempts;
      await client.query(
        isLast
          ? `update tasks set status = $2, mensagem = $3, estouro_tentativas = true where id = $1`
          : `update tasks set status = $2, mensagem = $3, reenfileirado = true, proxima_tentativa = data_hora where id = $1`,
        [id, status, message],
      );
      await client.query(
        isLast
          ? `insert into tasks (${copied}, payload, dead, live_id)
             select ${copied.replaceAll(/\w+/g, 't.$&')}, coalesce(t.payload, f.payload), true, coalesce(t.id_inicial, t.id)
             from tasks t left join tasks f on f.id = t.id_inicial where t.id = $1`
          : `insert into tasks (${copied}, id_inicial, data_hora_inicial, data_hora, tentativa, status, id_anterior)
             select ${copied.replaceAll(/\w+/g, 't.$&')}, coalesce(t.id_inicial, t.id), t.data_hora_inicial, t.proxima_tentativa,
               t.tentativa + 1, 'agendada', t.id
             from tasks t where t.id = $1`,
        [id],
      );
      await client.query('commit');
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      throw error;
    }
  }
}

async function lock(client: Client, id: string): Promise<boolean> {
  const { rows } = await client.query<{ got: boolean }>('select pg_try_advisory_lock($1::bigint) as got', [
    id,
  ]);
  return rows[0]?.got === true;
}

async function unlock(client: Client, id: string): Promise<void> {
  await client.query('select pg_advisory_unlock($1::bigint)', [id]).catch(() => undefined);
}
