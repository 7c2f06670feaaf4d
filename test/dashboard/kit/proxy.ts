import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';

/** A reverse proxy that shows an application under another path. */
export interface Proxy {
  /** Of the proxy, without a path. */
  readonly origin: string;
  /** Ends all connections, streams too. */
  readonly close: () => Promise<void>;
}

export interface ProxyOptions {
  /** The application, without a path. */
  readonly target: string;
  /** Path that visitors use, as `/ops/q`. */
  readonly from: string;
  /** Path of the application that it stands for, as `/internal/queues`. */
  readonly to: string;
  /** True: the application is told the host that visitors use; otherwise its own, as nginx does unless it is told. */
  readonly keepHost?: boolean;
}

/**
 * Passes on what is asked below one path, and nothing else. It does not help: no header names the path that visitors
 * use, and addresses in answers (`Location`) stay as they are.
 */
export async function startReverseProxy({
  target,
  from,
  to,
  keepHost = false,
}: ProxyOptions): Promise<Proxy> {
  const pass = (asked: IncomingMessage, answer: ServerResponse): void => {
    const path = asked.url ?? '/';
    const rest = path.slice(from.length);
    if (!path.startsWith(from) || !/^(?:$|[/?])/.test(rest)) {
      answer.writeHead(404).end('The proxy has nothing here.');
      return;
    }
    const headers = { ...asked.headers, ...(keepHost ? {} : { host: new URL(target).host }) };
    const onward = request(`${target}${to}${rest}`, { method: asked.method, headers, agent: false });
    onward.once('response', (given) => {
      answer.writeHead(given.statusCode ?? 502, given.headers);
      // The headers of a stream must not wait for its first event.
      answer.flushHeaders();
      pipeline(given, answer, () => undefined);
    });
    onward.once('error', () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
    // Visitors who leave a stream end it for the application, too.
    answer.once('close', () => onward.destroy());
    asked.pipe(onward);
  };
  const server = createServer(pass);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
