/** What only changes or reads rows, which ends no transaction. */
const plain = /^\s*(insert|update|delete|replace|select|with|values)\b/i;
/** Undoes what failed: handlers that catch an error in a savepoint of their own go on as before it. */
const undoing = /^\s*rollback\s+(work\s+)?to\b/i;

/** What is known of the statements that a handler has sent in its transaction. */
export class HandlerStatements {
  #firstError: unknown;
  #mayHaveEnded = false;
  #last: Promise<unknown> = Promise.resolve();

  /** The first of them that failed: named when the handler swallowed it. */
  get firstError(): unknown {
    return this.#firstError;
  }

  /** True when something was sent that may have ended the transaction, so far as its text tells. */
  get mayHaveEnded(): boolean {
    return this.#mayHaveEnded || this.#firstError !== undefined;
  }

  /** Settles with the statement sent last; statements of one connection end in order. */
  get last(): Promise<unknown> {
    return this.#last;
  }

  /** A handler that forgets to wait for an answer must not end the process: what became of it is known here. */
  track<T>(text: string, answer: Promise<T>): Promise<T> {
    this.sent(text);
    this.#last = answer.then(
      () => this.succeeded(text),
      (error: unknown) => this.failed(error),
    );
    return answer;
  }

  /** Notes a statement that was sent. Returns the function that its sender calls when it has ended. */
  begun(text: string): (error?: unknown) => void {
    this.sent(text);
    let settle = (): void => undefined;
    this.#last = new Promise<void>((settled) => (settle = settled));
    return (error) => {
      if (error) this.failed(error);
      else this.succeeded(text);
      settle();
    };
  }

  sent(text: string): void {
    // Behind the first of several there may be anything.
    if (!plain.test(text) || text.includes(';')) this.#mayHaveEnded = true;
  }

  succeeded(text: string): void {
    if (undoing.test(text)) this.#firstError = undefined;
  }

  failed(error: unknown): void {
    this.#firstError ??= error;
  }
}
