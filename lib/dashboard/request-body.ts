import type { IncomingMessage } from 'node:http';
import { TarefaError } from '../errors.js';
import { headerOf, type DashboardRequest } from './request.js';

/** A payload of a megabyte fits, however its characters are escaped. */
const largestBytes = 8 * 1_048_576;

/** Content types of requests of which {@link keepBodyUnread} has hidden them. */
const hiddenTypes = new WeakMap<object, string>();

/**
 * For Fastify, which refuses or reads a body before any guard or handler is asked, as the application's parsers have it. What seems
 * to have no body it leaves alone, so {@link readBody} finds it as it came.
 */
export function keepBodyUnread(request: IncomingMessage): void {
  const { headers } = request;
  const type = headers['content-type'];
  if (type !== undefined) {
    hiddenTypes.set(request, type);
    delete headers['content-type'];
    delete headers['content-length'];
    delete headers['transfer-encoding'];
  }
}

/** The content type that the request came with, in lower case and without parameters. */
export function contentTypeOf(request: DashboardRequest): string | undefined {
  const type = hiddenTypes.get(streamOf(request)) ?? headerOf(request, 'content-type');
  return type?.split(';')[0]?.trim().toLowerCase();
}

/**
 * The JSON of a request, whatever the application's body parser makes of it: an object, text, bytes, or nothing, in which case
 * it is read here.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export async function readBody(request: DashboardRequest): Promise<unknown> {
  const { body } = request;
  if (typeof body === 'string') return parse(body);
  if (body instanceof Uint8Array) return parse(Buffer.from(body).toString());
  // Some parsers leave an empty object where they have read nothing.
  if (typeof body === 'object' && body !== null && Object.keys(body).length > 0) return body;
  const stream = streamOf(request);
  if (!stream.readableDidRead) return parse(stream.readableEnded ? '' : await readText(stream));
  if (request.rawBody !== undefined) return parse(request.rawBody.toString());
  if (typeof body === 'object' && body !== null) return body;
  throw invalid(
    'the application read the body of this request but did not keep it: its body parser must skip requests to the dashboard',
  );
}

/** The request of Node: Express adds to it, Fastify holds it. */
function streamOf(request: DashboardRequest): IncomingMessage {
  return (request.raw ?? request) as IncomingMessage;
}

function readText(stream: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= largestBytes) chunks.push(chunk);
      // Read on and forgotten, so that the answer arrives.
      else reject(invalid(`the body has more than ${largestBytes} bytes`));
    });
    stream.once('end', () => resolve(Buffer.concat(chunks).toString()));
    stream.once('error', reject);
    stream.once('close', () => reject(invalid('the request ended before its body was complete')));
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TarefaError('INPUT_INVALID', `the body is not JSON: ${(cause as Error).message}`, { cause });
  }
}

function invalid(message: string): TarefaError {
  return new TarefaError('INPUT_INVALID', message);
}
