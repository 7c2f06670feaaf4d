/** An attempt that was failed and buried without being run, because its bytes are not text that can be sent to a client. */
export interface UnreadableTask {
  readonly id: string;
  readonly firstAttemptId: string;
  readonly attempt: number;
  readonly dead: boolean;
  /** Why, in words. */
  readonly message: string;
  /** First attempt of the dead chain; undefined when it was dead itself. */
  readonly deadId: string | undefined;
}
