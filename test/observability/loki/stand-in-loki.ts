import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

const unzip = promisify(gunzip);

/** A line as Loki got it. */
export interface ReceivedLine {
  readonly labels: Readonly<Record<string, string>>;
  readonly time: bigint;
  readonly text: string;
  /** What `| logfmt` would find in it. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface ReceivedPush {
  readonly headers: IncomingMessage['headers'];
  readonly lines: readonly ReceivedLine[];
}

type Answer = (request: IncomingMessage, response: Parameters<RequestListener>[1]) => void;

const accept: Answer = (_, response) => void response.writeHead(204).end();

/** As strict about what is pushed as Loki itself, and more; returns what it is told to. */
export class StandInLoki {
  readonly pushes: ReceivedPush[] = [];
  /** What no Loki would take, or takes but should not get. */
  readonly problems: string[] = [];
  /** Requests whose head arrived, whatever they were answered. */
  requests = 0;
  answer: Answer = accept;
  readonly #server: Server;
  readonly #latest = new Map<string, bigint>();

  private constructor() {
    this.#server = createServer((request, response) => {
      this.requests += 1;
      this.#receive(request, response).catch((error: unknown) => this.problems.push(String(error)));
    });
  }

  static async start(port = 0): Promise<StandInLoki> {
    const loki = new StandInLoki();
    await new Promise<void>((resolve) => loki.#server.listen(port, '127.0.0.1', resolve));
    return loki;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/loki/api/v1/push`;
  }

  /** All lines that were accepted, in the order in which they arrived. */
  get lines(): readonly ReceivedLine[] {
    return this.pushes.flatMap(({ lines }) => lines);
  }

  get texts(): readonly string[] {
    return this.lines.map(({ fields }) => fields['msg'] ?? '');
  }

  accept(): void {
    this.answer = accept;
  }

  /** Answers with a status from now on. */
  refuse(status: number, text = '', headers: Readonly<Record<string, string>> = {}): void {
    this.answer = (_, response) => void response.writeHead(status, headers).end(text);
  }

  /** @throws {Error} when anything arrived that should not have been sent */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    if (this.problems.length > 0) throw new Error(this.problems.join('\n'));
  }

  async #receive(request: IncomingMessage, response: Parameters<RequestListener>[1]): Promise<void> {
    const chunks: Buffer[] = [];
    // A client that gives up is part of the tests.
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const push = await this.#read(request, Buffer.concat(chunks));
    response.once('finish', () => {
      if (push && response.statusCode >= 200 && response.statusCode < 300) this.pushes.push(push);
    });
    this.answer(request, response);
  }

  async #read(request: IncomingMessage, bytes: Buffer): Promise<ReceivedPush | undefined> {
    const { method, url, headers } = request;
    this.#expect(method === 'POST', `method ${method}`);
    this.#expect(url?.split('?')[0] === '/loki/api/v1/push', `path ${url}`);
    this.#expect(headers['content-type'] === 'application/json', `type ${headers['content-type']}`);
    this.#expect(headers['content-length'] === String(bytes.length), 'no content-length');
    const text = headers['content-encoding'] === 'gzip' ? await unzip(bytes) : bytes;
    const body = JSON.parse(text.toString('utf8')) as { streams: { stream: object; values: string[][] }[] };
    this.#expect(Object.keys(body).join() === 'streams' && body.streams.length > 0, 'no streams');
    const names = new Set<string>();
    const lines = body.streams.flatMap(({ stream, values, ...rest }) => {
      this.#expect(Object.keys(rest).length === 0, `unknown keys ${Object.keys(rest).join()}`);
      const labels = stream as Readonly<Record<string, string>>;
      const name = JSON.stringify(labels);
      this.#expect(!names.has(name), `the stream ${name} twice in one push`);
      names.add(name);
      this.#checkLabels(labels);
      this.#expect(values.length > 0, `the stream ${name} is empty`);
      return values.map((value) => this.#readLine(name, labels, value));
    });
    return { headers, lines };
  }

  #checkLabels(labels: Readonly<Record<string, unknown>>): void {
    this.#expect(Object.keys(labels).length <= 15, 'more than 15 labels');
    for (const [name, value] of Object.entries(labels)) {
      this.#expect(/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name), `label ${name}`);
      this.#expect(typeof value === 'string' && value !== '' && value.length <= 2_048, `value of ${name}`);
    }
  }

  /** Each line of a stream must be later than the one before, over all pushes; a repeated push may repeat them. */
  #readLine(
    stream: string,
    labels: Readonly<Record<string, string>>,
    value: readonly unknown[],
  ): ReceivedLine {
    const [time, text] = value;
    this.#expect(value.length === 2 && typeof text === 'string', `value ${JSON.stringify(value)}`);
    this.#expect(typeof time === 'string' && /^\d{19}$/.test(time), `time ${String(time)}`);
    const at = BigInt(String(time));
    const id = `${stream} ${String(text)}`;
    if (this.#latest.get(id) !== at) {
      this.#expect(at > (this.#latest.get(stream) ?? 0n), `time ${at} is not later`);
      this.#latest.set(stream, at);
      this.#latest.set(id, at);
    }
    this.#expect(!/\p{Cc}/u.test(String(text)), `control characters in ${JSON.stringify(text)}`);
    return { labels, time: at, text: String(text), fields: this.#parse(String(text)) };
  }

  /** logfmt as Grafana reads it: nothing may be left over. */
  #parse(text: string): Readonly<Record<string, string>> {
    const pair = /([a-zA-Z]+)=("(?:[^"\\]|\\.)*"|[^\s"=\\]+)(?: |$)/y;
    const fields: Record<string, string> = {};
    while (pair.lastIndex < text.length) {
      const at = pair.lastIndex;
      const [, name, value] = pair.exec(text) ?? [];
      if (name === undefined || value === undefined) {
        this.problems.push(`no logfmt: ${text.slice(at)}`);
        break;
      }
      this.#expect(!(name in fields), `the field ${name} twice`);
      fields[name] = value.startsWith('"') ? (JSON.parse(value) as string) : value;
    }
    return fields;
  }

  #expect(isFine: boolean, problem: string): void {
    if (!isFine) this.problems.push(problem);
  }
}
