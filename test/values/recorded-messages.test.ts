import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { failureDetail, failureMessage } from '../../lib/values/failure-text.js';
import { failureOf, useStorage } from '../support/queue-storage.js';

const bench = useStorage();

/** Around the length of the column, of characters of one to four bytes, whole and halved. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 600 }),
  fc
    .array(fc.constantFrom('a', 'é', '€', '😀', '\0', '\ud83d', '\ude00'), { minLength: 470, maxLength: 750 })
    .map((all) => all.join('')),
);

const notes = { retried: ' (will be tried again)', exhausted: ' (no attempts left)' };

/** What UTF-8 makes of a text, which halves of characters are not. */
function stored(message: string): string {
  return Buffer.from(message.replaceAll('\0', '')).toString();
}

test('of every message as much is kept as there is room for beside what comes next, and no half character', async () => {
  const { pool, database, workerId } = bench;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ message: text, retried: fc.boolean() }), { minLength: 1, maxLength: 30 }),
      async (cases) => {
        const { rows: inserted } = await pool.query<{ id: string }>(
          `insert into tasks (processo, status, executor, reserva)
           select 't', 'processando', $1::bigint, 1 from generate_series(1, $2::int) returning id`,
          [workerId, cases.length],
        );
        await database.attempts.failMany(
          cases.map(({ message, retried }, index) =>
            failureOf(inserted[index]?.id ?? '', workerId, {
              message: failureMessage(message),
              error: failureDetail(message),
              maxAttempts: retried ? 2 : 1,
            }),
          ),
        );
        const { rows } = await pool.query<{ mensagem: string; next: string | null }>(
          `select f.mensagem, n.mensagem_anterior as next from tasks f left join tasks n on n.id_anterior = f.id
           where f.id = any($1::bigint[]) order by f.id`,
          [inserted.map(({ id }) => id)],
        );
        for (const [index, { mensagem, next }] of rows.entries()) {
          const { message, retried } = cases[index] as (typeof cases)[number];
          const note = retried ? notes.retried : notes.exhausted;
          const whole = message.replaceAll('\0', '');
          expect(mensagem.endsWith(note)).toBe(true);
          expect(next).toBe(retried ? mensagem : null);
          if (message === '') continue;
          const room = 500 - note.length;
          expect(mensagem).toBe(
            Array.from(stored(Array.from(whole).slice(0, 500).join('')))
              .slice(0, room)
              .join('') + note,
          );
        }
      },
    ),
    { numRuns: 30, interruptAfterTimeLimit: 20_000 },
  );
});
