import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';

/** How long the system may take to answer while an earlier answer is known. */
const patienceMs = 500;

/** The system's last answers, by name and kind of question: for all connections of this process. */
const known = new Map<string, readonly LookupAddress[]>();

/**
 * Finds the addresses of a name, as a socket asks for them. The system's resolver needs a thread of libuv's pool, which
 * handlers may fill for long with hashes and files: while it does not answer, its last answer counts. So a connection
 * that was lost meanwhile comes back; and where a name has moved, as in a failover, the next answer has the new address.
 */
export const lookupKnown: LookupFunction = (host, options, callback) => {
  const question = { ...options, all: true } as const;
  const key = JSON.stringify([host, options.family, options.hints]);
  let isAnswered = false;
  const answer = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]): void => {
    if (isAnswered) return;
    isAnswered = true;
    clearTimeout(patience);
    tell(callback, options, error, addresses);
  };
  const last = known.get(key);
  const patience = last && setTimeout(() => answer(null, last), patienceMs);
  lookup(host, question, (error, addresses) => {
    // A resolver that cannot be reached forgets nothing; a name that is gone is not asked for any more.
    if (!error && addresses.length > 0) known.set(key, addresses);
    answer(error, addresses);
  });
};

/** Sockets ask for all addresses or for one, and are told accordingly. */
function tell(
  callback: Parameters<LookupFunction>[2],
  { all }: LookupOptions,
  error: NodeJS.ErrnoException | null,
  addresses: readonly LookupAddress[],
): void {
  const [first] = addresses;
  if (error) callback(error, '', 0);
  else if (all) callback(null, [...addresses]);
  else callback(null, first?.address ?? '', first?.family);
}
