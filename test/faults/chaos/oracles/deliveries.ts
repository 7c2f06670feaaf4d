import { violation, type Oracle } from './oracle.js';

/** I11: a publication reaches each of its subscriptions with one copy. */
export const deliveredOnce: Oracle = async ({ db, history }) => {
  const { rows } = await db.query<{ key: string; ids: string[]; published: boolean }>(
    `select origem as key,
       array_remove(array_agg(subscriber_id order by subscriber_id)
         filter (where publication_id is not null and id_anterior is null and not dead), null) as ids,
       bool_or(pub_sub and status = 'sucesso') as published
     from every_row group by origem having bool_or(pub_sub)`,
  );
  const wrong = rows.filter(({ key, ids, published }) => {
    const expected = history.attempted.get(key)?.subscriptions;
    const wanted = published ? [...(expected ?? [])].toSorted().join() : '';
    return expected !== undefined && (ids ?? []).toSorted().join() !== wanted;
  });
  return violation('I11', 'a publication has not exactly one copy per subscription', wrong);
};
