import { routeExpression } from '../statement.js';

/** Version of what `schemaStatements` makes; recorded per table. */
export const schemaVersion = 1;

/** A column: its name, its type as `information_schema` names it, and the rest of its definition. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly rest?: string;
}

const text = (length: number): string => `varchar(${length})`;
/** Topics, keys and statuses are compared byte by byte, but for spaces at the end. */
const exact = 'character set utf8mb4 collate utf8mb4_bin';
/** A column of such text. */
export const exactText = (length: number): string => `${text(length)} ${exact}`;

const dueNow = 'default (utc_timestamp(6))';

/** The 28 columns of the contract, in its order. */
export const contractColumns: readonly ColumnDefinition[] = [
  { name: 'id', type: 'bigint', rest: 'not null auto_increment primary key' },
  { name: 'id_inicial', type: 'bigint' },
  { name: 'data_hora_inicial', type: 'datetime(6)', rest: dueNow },
  { name: 'data_hora', type: 'datetime(6)', rest: dueNow },
  { name: 'origem', type: text(150), rest: exact },
  { name: 'destino', type: text(150), rest: exact },
  { name: 'processo', type: text(250), rest: exact },
  { name: 'chave_externa', type: text(100), rest: exact },
  { name: 'proxima_tentativa', type: 'datetime(6)' },
  { name: 'tentativa', type: 'int', rest: 'default 1' },
  { name: 'status', type: text(100), rest: `${exact} default 'pendente'` },
  { name: 'reenfileirado', type: 'tinyint(1)', rest: 'default 0' },
  { name: 'estouro_tentativas', type: 'tinyint(1)', rest: 'default 0' },
  { name: 'mensagem', type: text(500), rest: exact },
  { name: 'id_anterior', type: 'bigint' },
  { name: 'data_hora_anterior', type: 'datetime(6)' },
  { name: 'status_anterior', type: text(100), rest: exact },
  { name: 'mensagem_anterior', type: text(500), rest: exact },
  { name: 'payload', type: 'longtext', rest: exact },
  { name: 'tenant', type: 'bigint' },
  { name: 'grupo_empresarial', type: text(40), rest: exact },
  { name: 'payload_hash', type: 'varbinary(64)' },
  { name: 'pub_sub', type: 'tinyint(1)', rest: 'not null default 0' },
  { name: 'publication_id', type: 'bigint' },
  { name: 'subscriber_id', type: text(100), rest: exact },
  { name: 'dead', type: 'tinyint(1)', rest: 'not null default 0' },
  { name: 'live_id', type: 'bigint' },
  { name: 'prioridade', type: 'int', rest: 'default 50' },
];

/** Columns that this library adds. */
export const ownColumns: readonly ColumnDefinition[] = [
  { name: 'executor', type: 'bigint' },
  { name: 'reserva', type: 'int', rest: 'not null default 0' },
  { name: 'rodada', type: 'int', rest: 'not null default 0' },
  { name: 'perdas', type: 'int', rest: 'not null default 0' },
  { name: 'iniciada_em', type: 'datetime(6)' },
  { name: 'finalizada_em', type: 'datetime(6)' },
  { name: 'resultado', type: 'longtext', rest: exact },
  { name: 'erro', type: 'longtext', rest: exact },
  { name: 'metadados', type: 'longtext', rest: exact },
  { name: 'chave_unica', type: text(200), rest: exact },
  { name: 'chave_fila', type: text(200), rest: exact },
  // Bounded, because it is indexed.
  { name: 'limite', type: 'varbinary(300)' },
  { name: 'lote', type: 'bigint' },
  { name: 'prazo', type: 'datetime(6)' },
  { name: 'consumidor', type: text(100), rest: exact },
  // Who cancelled it, empty where nobody was named: tells a cancelled attempt from one that failed.
  { name: 'cancelada_por', type: text(200), rest: exact },
];

/**
 * Columns that the server computes: null unless a row belongs into the index over it, which is how these servers have partial
 * indexes. STORED, because MariaDB's indexes over VIRTUAL columns answer wrongly to the transaction that has changed a row.
 */
export const computedColumns: readonly (ColumnDefinition & { readonly as: string })[] = [
  {
    name: 'rota_pronta',
    type: 'varbinary(1900)',
    as: `case when status = 'pendente' then ${routeExpression('')} end`,
  },
  {
    name: 'morta_pronta',
    type: 'datetime(6)',
    as: `case when dead and status = 'pendente' then data_hora end`,
  },
  { name: 'agendada_em', type: 'datetime(6)', as: `case when status = 'agendada' then data_hora end` },
  // A row that is running and names no worker was made so by hand; it is counted as what it is.
  {
    name: 'executor_ativo',
    type: 'bigint',
    as: `case when status = 'processando' then coalesce(executor, 0) end`,
  },
  {
    name: 'equivalente',
    type: 'varbinary(400)',
    as: `case when status in ('pendente', 'agendada', 'sucesso') then cast(chave_externa as binary) end`,
  },
  { name: 'morte', type: 'bigint', as: `case when dead and id_anterior is null then live_id end` },
  {
    name: 'entrega_viva',
    type: 'bigint',
    as: `case when publication_id is not null then coalesce(live_id, 0) end`,
  },
  {
    name: 'unica',
    type: 'varbinary(800)',
    as:
      `case when case left(chave_unica, 2) when 'w:' then id_anterior is null ` +
      `when 'p:' then status in ('pendente', 'agendada') and reserva = 0 and id_anterior is null ` +
      `else status in ('pendente', 'agendada', 'processando') end then cast(chave_unica as binary) end`,
  },
  {
    name: 'limitada',
    type: 'varbinary(300)',
    as: `case when status = 'processando' or (status in ('agendada', 'pendente') and id_anterior is not null) then limite end`,
  },
  // Keeps room on the page for what the next steps of a task write: a row that grows leaves its place.
  {
    name: 'folga',
    type: 'varbinary(48)',
    as: `case status when 'pendente' then repeat(' ', 48) when 'agendada' then repeat(' ', 48) when 'processando' then repeat(' ', 24) end`,
  },
];

/** The 9 columns of the subscriptions table, also a contract. */
export const subscriptionColumns: readonly ColumnDefinition[] = [
  { name: 'id', type: text(100), rest: `${exact} not null primary key` },
  { name: 'tenant', type: 'bigint' },
  { name: 'grupo_empresarial', type: text(40), rest: exact },
  { name: 'processo', type: text(250), rest: `${exact} not null` },
  { name: 'url', type: text(2048), rest: exact },
  { name: 'http_method', type: text(8), rest: exact },
  { name: 'headers', type: 'longtext', rest: exact },
  { name: 'ativo', type: 'tinyint(1)', rest: 'not null default 1' },
  { name: 'created_at', type: 'datetime(6)', rest: `not null ${dueNow}` },
];

/** An index of the queue table. */
export interface IndexDefinition {
  readonly name: string;
  readonly unique?: boolean;
  readonly on: string;
}

/** A unique one has no entry that counts for rows of which one of its columns is null. */
export const queueIndexes: readonly IndexDefinition[] = [
  // What claims walk.
  { name: 'ready', on: '(rota_pronta, prioridade desc, data_hora, id)' },
  // What the default treatment of dead tasks walks.
  { name: 'dead_ready', on: '(morta_pronta, id)' },
  // What promotion and the timer walk.
  { name: 'scheduled', on: '(agendada_em, id)' },
  // What recovery walks.
  { name: 'running', on: '(executor_ativo)' },
  { name: 'equivalent', on: '(equivalente, payload_hash)' },
  { name: 'attempts', on: '(id_inicial)' },
  // The unique ones make a second dead chain, delivery or next attempt impossible, within one round.
  { name: 'dead', unique: true, on: '(morte, rodada)' },
  {
    name: 'deliveries',
    unique: true,
    on: '(publication_id, subscriber_id, rodada, dead, tentativa, entrega_viva)',
  },
  { name: 'successor', unique: true, on: '(id_anterior, rodada)' },
  { name: 'unica', unique: true, on: '(unica)' },
  { name: 'limited', on: '(limitada, chave_fila)' },
  { name: 'batch', on: '(lote, status)' },
  // What purge walks.
  { name: 'age', on: '(data_hora)' },
];
