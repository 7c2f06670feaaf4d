import type { OptionCheck } from './option-check.js';
import type { Environment } from './variables.js';

/** A number that a variable of nsj-queue-lib may say as well. */
export interface VariableAmount {
  readonly variable: string;
  /** How many of the option make one of the variable: 1000 where that is in seconds. */
  readonly unit: number;
  readonly default: number;
  readonly least: number;
  readonly most: number;
}

/** The option, else the variable, else the default, checked. */
export function readAmount(
  option: string,
  given: number | undefined,
  { variable, unit, default: usual, least, most }: VariableAmount,
  env: Environment,
  check: OptionCheck,
): number {
  const text = env[variable]?.trim();
  if (given !== undefined || !text) return check.whole(option, given ?? usual, least, most);
  if (!/^\d{1,9}(\.\d{1,3})?$/.test(text)) {
    check.mistake(`${variable} must be a number, not ${JSON.stringify(text)}`);
    return usual;
  }
  const amount = unit === 1 ? Number(text) : Math.round(Number(text) * unit);
  return check.whole(`${option} (${variable})`, amount, least, most);
}

/** Of messages to and from the server of the client-server mode. */
export const messageTimeout: VariableAmount = {
  variable: 'TIMEOUT_SOCKET_MESSAGE',
  unit: 1_000,
  default: 5_000,
  least: 10,
  most: 3_600_000,
};

export const notifyPort: VariableAmount = {
  variable: 'NOTIFY_SERVICE_PORT',
  unit: 1,
  default: 8_770,
  least: 0,
  most: 65_535,
};

export const lockPort: VariableAmount = {
  variable: 'LOCK_SERVICE_PORT',
  unit: 1,
  default: 8_970,
  least: 0,
  most: 65_535,
};
