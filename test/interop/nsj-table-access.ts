import { createHash } from 'node:crypto';
import { escapeLiteral, types, type Client, type CustomTypesConfig } from 'pg';

/** A row as nsj-queue-lib reads it; times stay as they were written, so that nothing of them is lost. */
export interface NsjRow {
  readonly id: string;
  readonly id_inicial: string | null;
  readonly data_hora_inicial: string;
  readonly data_hora: string;
  readonly origem: string | null;
  readonly destino: string | null;
  readonly processo: string | null;
  readonly chave_externa: string | null;
  readonly tentativa: number;
  readonly status: string;
  readonly mensagem: string | null;
  readonly tenant: string | null;
  readonly grupo_empresarial: string | null;
  readonly payload: string | null;
  readonly payload_hash: string | null;
  readonly pub_sub: boolean;
  readonly publication_id: string | null;
  readonly subscriber_id: string | null;
  readonly dead: boolean;
  readonly live_id: string | null;
}

/** Every column but those that this library adds, and two that it never reads. */
const columns = [
  'id id_inicial data_hora_inicial data_hora origem destino processo chave_externa proxima_tentativa tentativa status',
  'mensagem id_anterior data_hora_anterior status_anterior mensagem_anterior tenant grupo_empresarial payload',
  'payload_hash pub_sub publication_id subscriber_id dead live_id prioridade',
]
  .join(' ')
  .split(' ');
const all = columns.map((name) => `tarefa.${name}`).join(', ');

/** Which table, and when a task is dead. */
export interface NsjTableOptions {
  readonly table: string;
  readonly maxAttempts: number;
  readonly retryMinutes: number;
}

/** The statements of nsj-queue-lib, as far as a worker sends them. */
export class NsjTable {
  readonly #table: string;
  readonly #maxAttempts: number;
  readonly #retryMinutes: number;

  constructor({ table, maxAttempts, retryMinutes }: NsjTableOptions) {
    this.#table = table;
    this.#maxAttempts = maxAttempts;
    this.#retryMinutes = retryMinutes;
  }

  async listDue(client: Client): Promise<readonly string[]> {
    const rows = await ask(
      client,
      `select ${all} from ${this.#table} as tarefa
       where status = 'pendente' and tentativa <= ${this.#maxAttempts} and data_hora <= clock_timestamp()
       order by prioridade desc, data_hora asc`,
    );
    return rows.map(({ id }) => id);
  }

  async listScheduled(client: Client): Promise<readonly string[]> {
    const rows = await ask(
      client,
      `select ${all} from ${this.#table} as tarefa
       where status = 'agendada' and data_hora <= clock_timestamp() order by data_hora`,
    );
    return rows.map(({ id }) => id);
  }

  /** With the payload of their own row alone. */
  listRunning(client: Client): Promise<readonly NsjRow[]> {
    return ask(client, `select ${all} from ${this.#table} as tarefa where status = 'processando'`);
  }

  async read(client: Client, id: string): Promise<NsjRow | undefined> {
    const rows = await ask(
      client,
      `select ${all}, coalesce(tarefa.payload, inicial.payload) as payload
       from ${this.#table} as tarefa left join ${this.#table} as inicial on (tarefa.id_inicial = inicial.id)
       where tarefa.id = ${id}`,
    );
    return rows[0];
  }

  async setStatus(client: Client, id: string, status: string, message?: string): Promise<void> {
    const said = message === undefined ? '' : `, mensagem = ${escapeLiteral(message)}`;
    await client.query(`update ${this.#table} set status = '${status}'${said} where id=${id}`);
  }

  /** Ends an attempt and files the next one, or starts a dead chain: also of a dead task, endlessly. */
  async fail(client: Client, row: NsjRow, status: string, message: string): Promise<void> {
    await client.query('begin');
    try {
      await (row.tentativa < this.#maxAttempts
        ? this.#fileNext(client, row, status, message)
        : this.#bury(client, row, status, message));
      await client.query('commit');
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      throw error;
    }
  }

  async #fileNext(client: Client, row: NsjRow, status: string, message: string): Promise<void> {
    const minutes = row.tentativa * this.#retryMinutes;
    const { rows } = await client.query<{ due: string }>(
      `select (${literal(row.data_hora)}::timestamptz + interval '${minutes} minutes')::text as due`,
    );
    const due = rows[0]?.due ?? '';
    await client.query(
      `update ${this.#table} set reenfileirado = True, status = '${status}', mensagem=${literal(message)},
         proxima_tentativa=${literal(due)} where id=${row.id}`,
    );
    await this.#insert(client, {
      ...carried(row),
      id_inicial: row.id_inicial ?? row.id,
      data_hora_inicial: row.data_hora_inicial,
      data_hora: due,
      proxima_tentativa: null,
      tentativa: row.tentativa + 1,
      status: 'agendada',
      mensagem: null,
      id_anterior: row.id,
      data_hora_anterior: row.data_hora,
      status_anterior: row.status,
      mensagem_anterior: row.mensagem,
      payload_hash: row.payload_hash,
      dead: row.dead,
      live_id: row.live_id,
    });
  }

  async #bury(client: Client, row: NsjRow, status: string, message: string): Promise<void> {
    await client.query(
      `update ${this.#table} set estouro_tentativas = True, status = '${status}', mensagem=${literal(message)} where id=${row.id}`,
    );
    await this.#insert(client, {
      ...carried(row),
      tentativa: 1,
      payload: row.payload,
      ...(row.payload === null || row.payload === '' ? {} : { payload_hash: hashOf(row.payload) }),
      dead: true,
      live_id: row.id_inicial ?? row.id,
    });
  }

  /** A delivery for each subscription, in the transaction in which the publication ends. */
  async publish(client: Client, row: NsjRow): Promise<void> {
    await client.query('begin');
    const { rows: subscriptions } = await client.query<Record<string, unknown>>(
      `select id, tenant, grupo_empresarial, processo, url, http_method, headers, ativo,
         to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS') as created_at
       from ${this.#table}_subscriber as sub
       where (sub.tenant is null or sub.tenant=${literal(row.tenant)})
         and (sub.grupo_empresarial is null or sub.grupo_empresarial=${literal(row.grupo_empresarial)})
         and sub.processo=${literal(row.processo)} and sub.ativo`,
    );
    for (const subscription of subscriptions) {
      const payload = JSON.stringify({ publication: row.payload, subscription });
      await this.#insert(client, {
        ...carried(row),
        pub_sub: false,
        tentativa: 1,
        status: 'pendente',
        mensagem: null,
        publication_id: row.id,
        subscriber_id: String(subscription['id']),
        payload,
        payload_hash: hashOf(payload),
      });
    }
    await this.setStatus(client, row.id, 'sucesso', 'published');
    await client.query('commit');
  }

  async #insert(client: Client, row: Readonly<Record<string, Value>>): Promise<void> {
    const names = columns.filter((name) => name in row);
    const values = names.map((name) => literal(row[name] ?? null));
    await client.query(`insert into ${this.#table} (${names.join(', ')}) values (${values.join(', ')})`);
  }
}

type Value = string | number | boolean | null;

/** What every row of a chain carries. */
function carried(row: NsjRow): Readonly<Record<string, Value>> {
  const { origem, destino, processo, chave_externa, tenant, grupo_empresarial } = row;
  const { pub_sub, publication_id, subscriber_id } = row;
  return {
    origem,
    destino,
    processo,
    chave_externa,
    tenant,
    grupo_empresarial,
    pub_sub,
    publication_id,
    subscriber_id,
  };
}

/** The bytes of the hexadecimal text. */
function hashOf(payload: string): string {
  return createHash('sha256').update(payload).digest('hex');
}

function literal(value: Value): string {
  return typeof value === 'string' ? escapeLiteral(value) : String(value);
}

/** Leaves times and bytes as the server writes them. */
const asText: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === types.builtins.TIMESTAMPTZ || oid === types.builtins.BYTEA
      ? (text: string) => text
      : types.getTypeParser(oid, format),
};

async function ask(client: Client, text: string): Promise<readonly NsjRow[]> {
  return (await client.query<NsjRow>({ text, types: asText })).rows;
}
