// What BullMQ's threads and processes load.
import { compute } from './compute.mjs';

const kind = process.env.BENCH_KIND;

export default async function handle() {
  if (kind !== 'empty') compute(kind);
}
