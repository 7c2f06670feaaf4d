import type { OptionCheck } from './option-check.js';
import type { QueueOptions } from './queue-options.js';
import { withoutUnset } from '../values/without-unset.js';
import type { RecoveryOptions } from './worker-options.js';

const defaultRecovery: RecoveryOptions = { intervalMs: 5_000, confirmMs: 5_000, graceMs: 10_000 };

/** How sure a recovery must be, also when only the retry routine recovers. */
export function resolveRecovery(recovery: QueueOptions['recovery'], check: OptionCheck): RecoveryOptions {
  if (recovery === false) return defaultRecovery;
  if (recovery !== undefined && typeof recovery !== 'object') {
    check.mistake(`recovery must be false or an object, not ${String(recovery)}`);
    return defaultRecovery;
  }
  check.known(Object.keys(recovery ?? {}), Object.keys(defaultRecovery), 'recovery.');
  const { intervalMs, confirmMs, graceMs } = { ...defaultRecovery, ...withoutUnset(recovery ?? {}) };
  return Object.freeze({
    intervalMs: check.number('recovery.intervalMs', intervalMs, 10, 3_600_000),
    confirmMs: check.number('recovery.confirmMs', confirmMs, 0, 3_600_000),
    graceMs: check.number('recovery.graceMs', graceMs, 0, 3_600_000),
  });
}
