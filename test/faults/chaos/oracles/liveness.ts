import { violationOf, type Oracle } from './oracle.js';

/** I10: once everything works again, nothing is left waiting or held. */
export const nothingStuck: Oracle = (evidence) =>
  violationOf(
    evidence,
    'I10',
    'an attempt never ended',
    `select id::text, origem, processo, subscriber_id, status, tentativa, executor::text, perdas, data_hora
     from every_row where status in ('pendente', 'agendada', 'processando') order by id`,
  );
