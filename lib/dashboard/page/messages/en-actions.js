/** The texts of actions: tasks are changed, created or deleted, one or many, and subscriptions are added and removed. */
export const actions = {
  'action.retry-edited': 'Edit and retry…',
  'action.delete': 'Delete',
  'action.insert': 'Insert a task…',
  'action.add-subscription': 'Add a subscription…',
  'action.remove-subscription': 'Remove',

  'delete.title': 'Delete task {id}?',
  'delete.body':
    'It is deleted with all its attempts and dead tasks. This cannot be undone. Deliveries of a publication stay.',
  'delete.done': 'Deleted, with {count} attempt. | Deleted, with {count} attempts.',
  'retry-edited.title': 'Retry task {id} with another payload',
  'retry-edited.body':
    'A new attempt is created with this payload; earlier attempts keep theirs. The user is recorded.',
  'retry-edited.redacted': 'Leave [redacted] in place to keep the stored value.',
  'retry-edited.notWhole':
    'The payload cannot be edited here because it is not shown in full. The task can be retried as it is.',
  'retry-edited.reason': 'Reason (optional, recorded with the new attempt)',
  'retry-edited.confirm': 'Retry with this payload',
  'retry-edited.done': 'A new attempt was created with the edited payload.',

  'payloadField.json': 'This is JSON.',
  'payloadField.text': 'This is not JSON: it will be stored as text.',
  'payloadField.broken': 'This looks like JSON but is not valid: it would be stored as text. {reason}',
  'payloadField.empty': 'Empty: the task has no payload.',
  'payloadField.emptyText': 'Empty: the payload is an empty string.',

  'insert.title': 'Insert a task',
  'insert.publication': 'Publish it to the subscriptions of the topic',
  'insert.delay': 'Delay',
  'insert.delay.hint': 'Empty: due immediately.',
  'insert.delay.unit': 'Unit of the delay',
  'insert.unit.seconds': 'seconds',
  'insert.unit.minutes': 'minutes',
  'insert.unit.hours': 'hours',
  'insert.unit.days': 'days',
  'insert.priority.hint': 'Higher runs first; empty: 50.',
  'insert.more': 'More fields',
  'insert.confirm': 'Insert',
  'insert.done': 'Task {id} was inserted.',

  'selection.select': 'Select',
  'selection.one': 'Select task {id}',
  'selection.all': 'Select all {count} shown',
  'selection.count': '{count} selected',
  'selection.clear': 'Clear selection',
  'selection.label': 'Bulk actions',

  'bulk.byRoute': 'These tasks by topic',
  'bulk.tasks': 'Tasks',
  'bulk.goOn': 'Continue',
  'bulk.refused':
    'The database refused to change task {id}: {reason} | The database refused to change {count} tasks. The last was task {id}: {reason}',
  'bulk.notByPayload':
    'Tasks found by text in the payload cannot be changed all at once: select them one by one.',
  'bulk.sure': 'Delete them permanently',

  'retry-all.button': 'Retry all matching…',
  'retry-all.selected': 'Retry {count}…',
  'retry-all.title': 'Retry all matching tasks',
  'retry-all.titleSelected': 'Retry the selected tasks',
  'retry-all.counting': 'Counting the tasks to retry…',
  'retry-all.none': 'No matching task can be retried, or all were retried already.',
  'retry-all.noneSelected': 'None of the selected tasks has failed, or all were retried already.',
  'retry-all.count': '{count} matching task can be retried. | {count} matching tasks can be retried.',
  'retry-all.countSelected': '{count} of {selected} selected can be retried.',
  'retry-all.hint':
    'Each gets a new attempt. Cancelled tasks are skipped, unless the filter names their status. You can stop between blocks; tasks already retried stay retried.',
  'retry-all.confirm': 'Retry {count} task | Retry {count} tasks',
  'retry-all.progress': '{count} of {total} retried',
  'retry-all.done': 'Done: {count} task was retried. | Done: {count} tasks were retried.',
  'retry-all.stopped': 'Stopped: {count} task was retried. | Stopped: {count} tasks were retried.',

  'cancel-all.button': 'Cancel all matching…',
  'cancel-all.selected': 'Cancel {count}…',
  'cancel-all.title': 'Cancel all matching tasks',
  'cancel-all.titleSelected': 'Cancel the selected tasks',
  'cancel-all.counting': 'Counting the waiting tasks…',
  'cancel-all.none': 'No waiting task matches.',
  'cancel-all.noneSelected': 'None of the selected tasks is waiting.',
  'cancel-all.count': '{count} matching task is waiting. | {count} matching tasks are waiting.',
  'cancel-all.countSelected': '{count} of {selected} selected can be cancelled.',
  'cancel-all.hint':
    'They end without running, and no dead handler runs for them. You can stop between blocks, and retry cancelled tasks.',
  'cancel-all.confirm': 'Cancel {count} task | Cancel {count} tasks',
  'cancel-all.progress': '{count} of {total} cancelled',
  'cancel-all.done': 'Done: {count} task was cancelled. | Done: {count} tasks were cancelled.',
  'cancel-all.stopped': 'Stopped: {count} task was cancelled. | Stopped: {count} tasks were cancelled.',

  'delete-all.button': 'Delete all matching…',
  'delete-all.selected': 'Delete {count}…',
  'delete-all.title': 'Delete all matching tasks',
  'delete-all.titleSelected': 'Delete the selected tasks',
  'delete-all.counting': 'Counting the tasks that are not running…',
  'delete-all.none': 'No task matches, or all matching tasks are running.',
  'delete-all.noneSelected': 'All selected tasks are running or gone.',
  'delete-all.count': '{count} matching task is not running. | {count} matching tasks are not running.',
  'delete-all.countSelected': '{count} of {selected} selected can be deleted.',
  'delete-all.hint':
    'Each is deleted with all its attempts and dead tasks. This cannot be undone. You can stop between blocks; tasks already deleted stay deleted.',
  'delete-all.confirm': 'Delete {count} task | Delete {count} tasks',
  'delete-all.progress': '{count} of {total} deleted',
  'delete-all.done': 'Done: {count} task was deleted. | Done: {count} tasks were deleted.',
  'delete-all.stopped': 'Stopped: {count} task was deleted. | Stopped: {count} tasks were deleted.',

  'add.title': 'Add a subscription',
  'add.id': 'Id',
  'add.id.hint': 'The name that handlers in code use for it; it cannot be changed later.',
  'add.url.hint': 'Empty: handlers in code serve it. With a URL, workers with webhooks call it.',
  'add.active': 'Active: publications are delivered immediately',
  'add.confirm': 'Add',
  'add.done': 'The subscription was added.',
  'remove.title': 'Remove the subscription?',
  'remove.body':
    'Publications are no longer delivered to {subscription}. Existing deliveries stay. This cannot be undone.',
  'remove.declared':
    'A handler declares {subscription}, so it would be created again at the next start. Deactivate it instead, or remove the handler first.',
  'remove.done': 'The subscription was removed.',
};

/** @typedef {Readonly<Record<keyof typeof actions, string>>} ActionMessages */
