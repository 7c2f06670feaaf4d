/** One queue under one setting, as it appears in every table. */
export interface Peer {
  /** `graphile-worker, tuned`; without a comma it runs at its defaults. */
  readonly name: string;
  /** `graphile-worker` */
  readonly product: Product;
  /** `tuned`; the adapter knows it. */
  readonly setting: string;
}

export type Product =
  | 'tarefa'
  | 'bare'
  | 'graphile-worker'
  | 'pg-boss'
  | 'bullmq on redis'
  | 'bullmq on postgres'
  | 'tarefa on postgres'
  | 'bare on mariadb'
  | '@boringnode/queue'
  | 'sidequest';

interface ProductFacts {
  /** Module of the adapter: below `dist/bench` when it is compiled, else below `bench`. */
  readonly adapter: string;
  readonly compiled: boolean;
  readonly needsRedis?: true;
  /** Only in `npm run bench:mysql`. */
  readonly besideMariadb?: true;
}

/** How each product is reached. */
export const products: Readonly<Record<Product, ProductFacts>> = {
  tarefa: { adapter: 'tarefa/adapter.js', compiled: true },
  bare: { adapter: 'bare/adapter.js', compiled: true },
  'graphile-worker': { adapter: 'peers/graphile-worker.mjs', compiled: false },
  'pg-boss': { adapter: 'peers/pg-boss.mjs', compiled: false },
  'bullmq on redis': { adapter: 'peers/bullmq-redis.mjs', compiled: false, needsRedis: true },
  'bullmq on postgres': { adapter: 'peers/bullmq-postgres.mjs', compiled: false },
  'tarefa on postgres': { adapter: 'tarefa/adapter.js', compiled: true, besideMariadb: true },
  'bare on mariadb': { adapter: 'mysql/bare-adapter.js', compiled: true, besideMariadb: true },
  '@boringnode/queue': { adapter: 'peers/boringnode-queue.mjs', compiled: false, besideMariadb: true },
  sidequest: { adapter: 'peers/sidequest.mjs', compiled: false, besideMariadb: true },
};

/** Reads `graphile-worker, tuned`. */
export function peerOf(name: string): Peer {
  const [product, setting = 'default'] = name.split(', ');
  if (product === undefined || !Object.hasOwn(products, product))
    throw new Error(`no peer is called ${name}`);
  return { name, product: product as Product, setting };
}
