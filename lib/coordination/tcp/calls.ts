/** A ring of one queue, as it goes through the server, which reads no more of it than that. */
export interface SentRing {
  readonly queue: string;
  readonly topic: string;
  readonly message: unknown;
}

/** What a client asks the server for. Those of nsj-queue-lib know neither `listen` nor `ring`, `hold` nor `joined`. */
export type Call =
  | { readonly name: 'try_lock' | 'release_lock'; readonly lock: string }
  | { readonly name: 'sleep' | 'halt' | 'halt_server' | 'close' }
  /** Without a lock it asks whether the server knows the call. */
  | { readonly name: 'hold'; readonly lock: string | undefined }
  | { readonly name: 'joined'; readonly worker: string }
  | { readonly name: 'listen'; readonly queue: string }
  | { readonly name: 'ring'; readonly ring: SentRing };

/** Reads what a client sent; undefined for anything else. */
export function readCall(message: string): Call | undefined {
  const [, name, argument = ''] = /^([a-z_]{4,12})\((.*)\)$/s.exec(message) ?? [];
  switch (name) {
    case 'try_lock':
    case 'release_lock':
      return isNumber(argument) ? { name, lock: withoutZeros(argument) } : undefined;
    case 'hold':
      if (argument === '') return { name, lock: undefined };
      return isNumber(argument) ? { name, lock: withoutZeros(argument) } : undefined;
    case 'sleep':
    case 'halt':
    case 'halt_server':
    case 'close':
      return argument === '' ? { name } : undefined;
    case 'joined':
      return isNumber(argument) ? { name, worker: argument } : undefined;
    case 'listen': {
      const queue = readJson(argument);
      return typeof queue === 'string' ? { name, queue } : undefined;
    }
    case 'ring': {
      const ring = readRing(argument);
      return ring && { name, ring };
    }
    default:
      return undefined;
  }
}

/** What a worker of this library says before it joins, of each task that it runs; without one it asks whether the server is ours. */
export function holdCall(taskId = ''): string {
  return `hold(${taskId})`;
}

/** What a worker of this library says that locks here what it runs. */
export function joinedCall(workerId: string): string {
  return `joined(${workerId})`;
}

export function listenCall(queue: string): string {
  return `listen(${withoutMark(JSON.stringify(queue))})`;
}

/**
 * The ring is called by the one who rings, and by the server of those who listen.
 *
 * @param text a {@link SentRing} as JSON
 */
export function ringCall(text: string): string {
  return `ring(${withoutMark(text)})`;
}

/** What was rung; undefined for another call. */
export function rungText(call: string): string | undefined {
  return /^ring\((.*)\)$/s.exec(call)?.[1];
}

function isNumber(argument: string): boolean {
  return /^\d{1,19}$/.test(argument);
}

/** One number is one lock, however it is written. */
function withoutZeros(number: string): string {
  return number.replace(/^0+(?=\d)/, '');
}

function readRing(json: string): SentRing | undefined {
  const ring = readJson(json) as Partial<SentRing> | null | undefined;
  if (typeof ring?.queue !== 'string' || typeof ring.topic !== 'string') return undefined;
  return { queue: ring.queue, topic: ring.topic, message: ring.message };
}

/** No text in this JSON can look like the mark that ends a message. */
function withoutMark(json: string): string {
  return json.replaceAll('#', String.raw`\u0023`);
}

function readJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
