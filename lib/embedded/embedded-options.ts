/** What may be said about the embedded server. */
export interface EmbeddedPostgresOptions {
  /** Folder that keeps the data between runs. Default: `.tarefa` in the working folder. */
  readonly dataDir?: string | undefined;
  /** Receives a line for each thing worth knowing: files made, server started, found or stopped. */
  readonly log?: ((line: string) => void) | undefined;
  /** Settings of PostgreSQL, as on its command line with `-c`, for instance `{ max_connections: '200' }`. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

/** A running embedded server. */
export interface EmbeddedPostgres {
  /** Address of its database, with user and password. */
  readonly url: string;
  /** Port on 127.0.0.1. */
  readonly port: number;
  /** Where PostgreSQL's files really are: in the folder asked for, unless the server's user cannot get there. */
  readonly dataDir: string;
  /**
   * Stops the server and waits until it is gone, unless another application in the same folder still uses it.
   * May be called again.
   */
  stop(): Promise<void>;
}
