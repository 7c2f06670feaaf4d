/**
 * What is said where tasks and subscriptions are changed, in Brazilian Portuguese.
 *
 * @type {import('./en-actions.js').ActionMessages}
 */
export const actions = {
  'action.retry-edited': 'Editar e repetir…',
  'action.delete': 'Excluir',
  'action.insert': 'Inserir tarefa…',
  'action.add-subscription': 'Acrescentar assinatura…',
  'action.remove-subscription': 'Remover',

  'delete.title': 'Excluir a tarefa {id}?',
  'delete.body':
    'Sua linha é excluída, com todas as tentativas e tarefas mortas. Não é possível restaurá-la. Entregas de uma publicação ficam.',
  'delete.done': 'Excluída, com {count} tentativa. | Excluída, com {count} tentativas.',
  'retry-edited.title': 'Repetir a tarefa {id} com outro payload',
  'retry-edited.body':
    'Uma nova tentativa é criada com este payload; as anteriores mantêm o seu. Fica registrado quem o fez.',
  'retry-edited.redacted': 'Deixe [redacted] onde está: ali o valor guardado é mantido.',
  'retry-edited.notWhole':
    'O payload não pode ser editado aqui: ele não é mostrado por inteiro. A tarefa pode ser repetida como está.',
  'retry-edited.reason': 'Motivo (opcional, registrado com a nova tentativa)',
  'retry-edited.confirm': 'Repetir com este payload',
  'retry-edited.done': 'Uma nova tentativa foi criada com o payload editado.',

  'payloadField.json': 'É JSON.',
  'payloadField.text': 'Não é JSON: é guardado como texto.',
  'payloadField.broken': 'Parece JSON, mas não é: seria guardado como texto. {reason}',
  'payloadField.empty': 'Vazio: a tarefa não tem payload.',
  'payloadField.emptyText': 'Vazio: o payload é um texto vazio.',

  'insert.title': 'Inserir uma tarefa',
  'insert.publication': 'Publicar para as assinaturas do tópico',
  'insert.delay': 'Atraso',
  'insert.delay.hint': 'Vazio: executa assim que possível.',
  'insert.delay.unit': 'Unidade do atraso',
  'insert.unit.seconds': 'segundos',
  'insert.unit.minutes': 'minutos',
  'insert.unit.hours': 'horas',
  'insert.unit.days': 'dias',
  'insert.priority.hint': 'Maior executa antes; vazio: 50.',
  'insert.more': 'Mais campos',
  'insert.confirm': 'Inserir',
  'insert.done': 'A tarefa {id} foi inserida.',

  'selection.select': 'Selecionar',
  'selection.one': 'Selecionar a tarefa {id}',
  'selection.all': 'Selecionar todas as {count} mostradas',
  'selection.count': '{count} selecionada | {count} selecionadas',
  'selection.clear': 'Limpar a seleção',
  'selection.label': 'Várias tarefas de uma vez',

  'bulk.byRoute': 'Estas tarefas por tópico',
  'bulk.tasks': 'Tarefas',
  'bulk.goOn': 'Continuar',
  'bulk.refused':
    'O banco recusou a alteração da tarefa {id}: {reason} | O banco recusou a alteração de {count} tarefas. A última foi a tarefa {id}: {reason}',
  'bulk.notByPayload': 'O que se acha por um texto do payload é escolhido uma a uma: selecione.',
  'bulk.sure': 'Elas são excluídas para sempre',

  'retry-all.button': 'Repetir todas as que correspondem…',
  'retry-all.selected': 'Repetir {count}…',
  'retry-all.title': 'Repetir todas as que correspondem',
  'retry-all.titleSelected': 'Repetir as tarefas selecionadas',
  'retry-all.counting': 'Contando as tarefas a repetir…',
  'retry-all.none': 'Nenhuma tarefa a repetir corresponde, ou todas já foram repetidas.',
  'retry-all.noneSelected': 'Nenhuma das selecionadas falhou, ou todas já foram repetidas.',
  'retry-all.count': '{count} tarefa a repetir corresponde. | {count} tarefas a repetir correspondem.',
  'retry-all.countSelected':
    '{count} de {selected} selecionadas pode ser repetida. | {count} de {selected} selecionadas podem ser repetidas.',
  'retry-all.hint':
    'Cada uma recebe uma nova tentativa. As canceladas ficam de fora, a não ser que o filtro diga o status delas. É possível parar entre os blocos; o que foi repetido fica.',
  'retry-all.confirm': 'Repetir {count} tarefa | Repetir {count} tarefas',
  'retry-all.progress': '{count} de {total} repetidas',
  'retry-all.done': 'Pronto: {count} tarefa foi repetida. | Pronto: {count} tarefas foram repetidas.',
  'retry-all.stopped': 'Parado: {count} tarefa foi repetida. | Parado: {count} tarefas foram repetidas.',

  'cancel-all.button': 'Cancelar todas as que correspondem…',
  'cancel-all.selected': 'Cancelar {count}…',
  'cancel-all.title': 'Cancelar todas as que correspondem',
  'cancel-all.titleSelected': 'Cancelar as tarefas selecionadas',
  'cancel-all.counting': 'Contando as tarefas que esperam…',
  'cancel-all.none': 'Nenhuma tarefa que espera corresponde.',
  'cancel-all.noneSelected': 'Nenhuma das selecionadas espera.',
  'cancel-all.count': '{count} tarefa que espera corresponde. | {count} tarefas que esperam correspondem.',
  'cancel-all.countSelected':
    '{count} de {selected} selecionadas pode ser cancelada. | {count} de {selected} selecionadas podem ser canceladas.',
  'cancel-all.hint':
    'Elas terminam sem ser executadas, e nenhum tratamento de tarefa morta é chamado. É possível parar entre os blocos, e repetir o que foi cancelado.',
  'cancel-all.confirm': 'Cancelar {count} tarefa | Cancelar {count} tarefas',
  'cancel-all.progress': '{count} de {total} canceladas',
  'cancel-all.done': 'Pronto: {count} tarefa foi cancelada. | Pronto: {count} tarefas foram canceladas.',
  'cancel-all.stopped': 'Parado: {count} tarefa foi cancelada. | Parado: {count} tarefas foram canceladas.',

  'delete-all.button': 'Excluir todas as que correspondem…',
  'delete-all.selected': 'Excluir {count}…',
  'delete-all.title': 'Excluir todas as que correspondem',
  'delete-all.titleSelected': 'Excluir as tarefas selecionadas',
  'delete-all.counting': 'Contando as tarefas que não estão em execução…',
  'delete-all.none': 'Nenhuma tarefa corresponde, ou todas estão em execução.',
  'delete-all.noneSelected': 'Todas as selecionadas estão em execução, ou não existem mais.',
  'delete-all.count':
    '{count} tarefa que não está em execução corresponde. | {count} tarefas que não estão em execução correspondem.',
  'delete-all.countSelected':
    '{count} de {selected} selecionadas pode ser excluída. | {count} de {selected} selecionadas podem ser excluídas.',
  'delete-all.hint':
    'Cada uma é excluída com todas as tentativas e tarefas mortas. Não é possível desfazer. É possível parar entre os blocos; o que foi excluído fica.',
  'delete-all.confirm': 'Excluir {count} tarefa | Excluir {count} tarefas',
  'delete-all.progress': '{count} de {total} excluídas',
  'delete-all.done': 'Pronto: {count} tarefa foi excluída. | Pronto: {count} tarefas foram excluídas.',
  'delete-all.stopped': 'Parado: {count} tarefa foi excluída. | Parado: {count} tarefas foram excluídas.',

  'add.title': 'Acrescentar uma assinatura',
  'add.id': 'Id',
  'add.id.hint': 'O nome pelo qual handlers no código a atendem; não muda depois.',
  'add.url.hint': 'Vazio: handlers no código a atendem. Com uma URL, workers com webhooks a chamam.',
  'add.active': 'Ativa: as publicações são entregues desde já',
  'add.confirm': 'Acrescentar',
  'add.done': 'A assinatura foi acrescentada.',
  'remove.title': 'Remover a assinatura?',
  'remove.body':
    'As publicações deixam de ser entregues a {subscription}. As entregas já feitas ficam. Não é possível desfazer.',
  'remove.declared':
    'Um handler declara {subscription}, então ela seria criada de novo na próxima inicialização. Desative-a, ou remova antes o handler.',
  'remove.done': 'A assinatura foi removida.',
};
