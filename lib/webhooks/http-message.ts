import type { IncomingHttpHeaders } from 'node:http';

/** A request as it is written. */
export interface HttpRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

/** An answer as it was read. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The first bytes of its body, as they came: nothing is decompressed. */
  readonly body: Buffer;
  /** Bytes of the body that came, kept or not. */
  readonly bytes: number;
  /** True when the body went on after what was read: its connection cannot be used again. */
  readonly cut: boolean;
}
