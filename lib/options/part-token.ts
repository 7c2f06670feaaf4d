/** Name of the queue that is meant where none is given. */
export const defaultQueueName = 'default';

/** Token of a part of a queue that is not for applications. */
export function getPartToken(name: string = defaultQueueName, part: string): string {
  return `tarefa:${name}:${part}`;
}
