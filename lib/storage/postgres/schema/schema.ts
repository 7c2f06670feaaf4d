import { routeExpression } from '../statement.js';

/** Version of what `schemaStatements` makes; recorded per table. */
export const schemaVersion = 1;

/** A column: its name, its type as PostgreSQL prints it, and the rest of its definition. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly rest?: string;
  /** True for a text that is a key: ordered by bytes. */
  readonly isKey?: true;
}

/**
 * The order of keys: by bytes. That of a language changes with the libraries of the system, and an index that was built before
 * then finds only some of what it holds. Texts are equal or not in either.
 */
export const keyOrder = 'collate "C"';

/** The 28 columns of the contract, in its order: tables and clients of nsj-queue-lib share them. */
export const contractColumns: readonly ColumnDefinition[] = [
  { name: 'id', type: 'bigint', rest: 'primary key' },
  { name: 'id_inicial', type: 'bigint' },
  { name: 'data_hora_inicial', type: 'timestamp with time zone', rest: 'default clock_timestamp()' },
  { name: 'data_hora', type: 'timestamp with time zone', rest: 'default clock_timestamp()' },
  { name: 'origem', type: 'character varying(150)' },
  { name: 'destino', type: 'character varying(150)' },
  { name: 'processo', type: 'character varying(250)', isKey: true },
  { name: 'chave_externa', type: 'character varying(100)', isKey: true },
  { name: 'proxima_tentativa', type: 'timestamp with time zone' },
  { name: 'tentativa', type: 'integer', rest: 'default 1' },
  { name: 'status', type: 'character varying(100)', isKey: true, rest: `default 'pendente'` },
  { name: 'reenfileirado', type: 'boolean', rest: 'default false' },
  { name: 'estouro_tentativas', type: 'boolean', rest: 'default false' },
  { name: 'mensagem', type: 'character varying(500)' },
  { name: 'id_anterior', type: 'bigint' },
  { name: 'data_hora_anterior', type: 'timestamp with time zone' },
  { name: 'status_anterior', type: 'character varying(100)' },
  { name: 'mensagem_anterior', type: 'character varying(500)' },
  { name: 'payload', type: 'text' },
  { name: 'tenant', type: 'bigint' },
  { name: 'grupo_empresarial', type: 'character varying(40)', isKey: true },
  { name: 'payload_hash', type: 'bytea' },
  { name: 'pub_sub', type: 'boolean', rest: 'not null default false' },
  { name: 'publication_id', type: 'bigint' },
  { name: 'subscriber_id', type: 'character varying(100)', isKey: true },
  { name: 'dead', type: 'boolean', rest: 'not null default false' },
  { name: 'live_id', type: 'bigint' },
  { name: 'prioridade', type: 'integer', rest: 'default 50' },
];

/** Columns that this library adds: nullable or with constant defaults, so that adding them is instant. */
export const ownColumns: readonly ColumnDefinition[] = [
  { name: 'executor', type: 'bigint' },
  { name: 'reserva', type: 'integer', rest: 'not null default 0' },
  { name: 'rodada', type: 'integer', rest: 'not null default 0' },
  { name: 'perdas', type: 'integer', rest: 'not null default 0' },
  { name: 'iniciada_em', type: 'timestamp with time zone' },
  { name: 'finalizada_em', type: 'timestamp with time zone' },
  { name: 'resultado', type: 'text' },
  { name: 'erro', type: 'text' },
  { name: 'metadados', type: 'jsonb' },
  { name: 'chave_unica', type: 'character varying(200)', isKey: true },
  { name: 'chave_fila', type: 'character varying(200)', isKey: true },
  // Bounded, because it is indexed: a longer text would make the claim fail, and with it the queue.
  { name: 'limite', type: 'character varying(300)', isKey: true },
  { name: 'lote', type: 'bigint' },
  { name: 'prazo', type: 'timestamp with time zone' },
  { name: 'consumidor', type: 'character varying(100)' },
  // Who cancelled it, empty where nobody was named: tells a cancelled attempt from one that failed.
  { name: 'cancelada_por', type: 'character varying(200)' },
];

/** The 9 columns of the subscriptions table, also a contract. */
export const subscriptionColumns: readonly ColumnDefinition[] = [
  { name: 'id', type: 'character varying(100)', isKey: true, rest: 'primary key' },
  { name: 'tenant', type: 'bigint' },
  { name: 'grupo_empresarial', type: 'character varying(40)', isKey: true },
  { name: 'processo', type: 'character varying(250)', isKey: true, rest: 'not null' },
  { name: 'url', type: 'character varying(2048)' },
  { name: 'http_method', type: 'character varying(8)' },
  { name: 'headers', type: 'json' },
  { name: 'ativo', type: 'boolean', rest: 'not null default true' },
  { name: 'created_at', type: 'timestamp with time zone', rest: 'not null default now()' },
];

/** An index of the queue table: partial wherever a row on the success path can stay out of it. */
export interface IndexDefinition {
  readonly suffix: string;
  readonly unique?: boolean;
  readonly on: string;
  readonly where?: string;
}

/**
 * True for a row that has its unique key for itself: `v:` while it lives, `p:` while it has not started, `w:` at all. A `p:` task
 * that has started stays out: it may be given back, or fail, beside the one that was inserted meanwhile.
 */
export const hasUniqueKey =
  `chave_unica is not null and case left(chave_unica, 2) when 'w:' then id_anterior is null ` +
  `when 'p:' then status in ('pendente', 'agendada') and reserva = 0 and id_anterior is null ` +
  `else status in ('pendente', 'agendada', 'processando') end`;

// Columns of an adopted table keep the order that they have, so indexes say theirs.
export const queueIndexes: readonly IndexDefinition[] = [
  // What claims walk.
  {
    suffix: 'ready',
    on: `((${routeExpression('')}), prioridade desc, data_hora, id)`,
    where: `status = 'pendente'`,
  },
  // What the default treatment of dead tasks walks.
  { suffix: 'dead_ready', on: '(data_hora, id)', where: `dead and status = 'pendente'` },
  // What promotion and the timer walk.
  { suffix: 'scheduled', on: '(data_hora, id)', where: `status = 'agendada'` },
  // What recovery walks.
  { suffix: 'running', on: '(executor)', where: `status = 'processando'` },
  {
    suffix: 'equivalent',
    on: `(chave_externa ${keyOrder}, payload_hash)`,
    where: `chave_externa is not null and status in ('pendente', 'agendada', 'sucesso')`,
  },
  { suffix: 'attempts', on: '(id_inicial)', where: 'id_inicial is not null' },
  // `deliveries` also answers what became of a publication. The unique ones make a second dead chain, delivery or
  // next attempt impossible: within one round (`rodada`), because adopted tables may hold some already. Workers of
  // nsj-queue-lib start a dead chain for a dead chain that failed, and so on: each is the only one of what it died of.
  { suffix: 'dead', unique: true, on: '(live_id, rodada)', where: 'dead and id_anterior is null' },
  {
    suffix: 'deliveries',
    unique: true,
    on: `(publication_id, subscriber_id ${keyOrder}, rodada, dead, tentativa, coalesce(live_id, 0))`,
    where: 'publication_id is not null',
  },
  { suffix: 'successor', unique: true, on: '(id_anterior, rodada)', where: 'id_anterior is not null' },
  // One task per unique key.
  { suffix: 'unica', unique: true, on: `(chave_unica ${keyOrder})`, where: hasUniqueKey },
  // What counts against a limit: running attempts, and retries that keep their key's place.
  {
    suffix: 'limited',
    on: `(limite ${keyOrder}, chave_fila ${keyOrder})`,
    where: `limite is not null and (status = 'processando' or status in ('agendada', 'pendente') and id_anterior is not null)`,
  },
  { suffix: 'batch', on: `(lote, status ${keyOrder})`, where: 'lote is not null' },
  // What purge walks; costs next to nothing on the way in.
  { suffix: 'age', on: 'using brin (data_hora) with (autosummarize = on)' },
];
