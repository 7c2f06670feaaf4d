/** Environment variables, as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;
