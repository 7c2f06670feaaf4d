/** Where a queue's log is pushed to besides Nest's logger, and how. */
export interface LokiOptions {
  /**
   * Where lines are posted, used as it is given: `http://loki:3100/loki/api/v1/push`. A user and a password in it are sent
   * as basic authentication. Without one nothing is pushed. Variable `GRAFANA_URL`.
   */
  readonly url?: string | undefined;
  /**
   * Makes the label that users of nsj-queue-lib know: `DEV_flask_api_skeleton="dev_log"`. Variable `ENV`. Default `DEV`.
   */
  readonly env?: string | undefined;
  /**
   * Further labels, at most ten; `app` replaces the one that is `nestjs-tarefa`. Few values each: every combination is a
   * stream of its own. Default: none.
   */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Sent as `X-Scope-OrgID`. Default: none. */
  readonly tenant?: string | undefined;
  /** Further headers, such as `Authorization`. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Instead of a user and a password in `url`. Default: none. */
  readonly basicAuth?: LokiBasicAuth | undefined;
  /** Bodies are compressed. Default false. */
  readonly gzip?: boolean | undefined;
  /** The longest that a line waits for others to go with it. Default 1000. */
  readonly intervalMs?: number | undefined;
  /** Lines of one request. Default 1000. */
  readonly batchLines?: number | undefined;
  /** About how many bytes the lines of one request have. Default 262144. */
  readonly batchBytes?: number | undefined;
  /** Lines that wait while Loki does not take them; then the oldest are dropped. Default 10000. */
  readonly bufferLines?: number | undefined;
  /** About how many bytes the lines have that wait. Default 4194304. */
  readonly bufferBytes?: number | undefined;
  /** For one request with its answer. Default 10000. */
  readonly timeoutMs?: number | undefined;
  /** How long lines that are left may take at shutdown. Default 3000. */
  readonly flushMs?: number | undefined;
}

/** Credentials of Loki. */
export interface LokiBasicAuth {
  readonly username: string;
  readonly password: string;
}
