/**
 * What the server refuses, by code: its own words are English, and are `{message}`.
 *
 * @type {Readonly<Record<string, string>>}
 */
export const refusals = {
  ACTION_FORBIDDEN:
    'Este painel não permite isto: a opção dashboard.actions (ou dashboard.payloads) da aplicação não o autoriza.',
  DATABASE_FAILED: 'O banco de dados não respondeu como devia{reason}.',
  INPUT_INVALID: 'O servidor não aceitou um valor. Ele diz, em inglês: {message}',
  OPTIONS_INVALID: 'As opções da aplicação não permitem isto. O servidor diz, em inglês: {message}',
  RIGHTS_MISSING: 'O banco não permite isto à aplicação. O servidor diz, em inglês, o que falta: {message}',
  QUEUE_BUSY: 'Um worker da nsj-queue-lib está usando a fila. Tente de novo em instantes.',
  SCHEDULE_NOT_FOUND: 'Não existe recorrência {id}.',
  SUBSCRIPTION_EXISTS: 'Já existe uma assinatura {id}.',
  SUBSCRIPTION_NOT_FOUND: 'Não existe assinatura {id}.',
  SUBSCRIPTIONS_UNAVAILABLE: 'A tabela de assinaturas não existe ou não está em uso nesta fila.',
  TASK_DUPLICATE: 'A tarefa anterior de {id} ainda não terminou, e não pode haver outra ao mesmo tempo.',
  TASK_NOT_FOUND:
    'Não existe tentativa {id}: talvez já tenha sido expurgada, ou a transação que a insere ainda não terminou.',
  TASK_STATE: 'O estado da tarefa {id} não permite isto. Estado atual: {status}.',
  TOOK_TOO_LONG: 'O banco de dados demorou demais. Peça menos, por exemplo um período menor.',
};
