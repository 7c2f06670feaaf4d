import { expect, test } from 'vitest';
import { AddressPolicy } from '../../lib/webhooks/address-policy.js';
import { RequestProgress } from '../../lib/webhooks/request-progress.js';
import { NameResolver } from '../../lib/webhooks/name-resolver.js';
import { WebhookConnector } from '../../lib/webhooks/webhook-connector.js';
import { until } from '../support/waiting.js';
import { failureOf, startRawReceiver } from './kit/receivers.js';

test('a socket that turns out to be connected elsewhere is closed before anything is written', async () => {
  let received = 0;
  const receiver = await startRawReceiver((socket) =>
    socket.on('data', ({ length }) => (received += length)),
  );
  const policy = new AddressPolicy(['127.0.0.1']);
  const refusal = policy.refusal.bind(policy);
  let asked = 0;
  // Passes the address that is dialled, as if another were reached then.
  policy.refusal = (address, host) => ((asked += 1) > 1 ? 'private' : refusal(address, host));
  const connector = new WebhookConnector(policy, new NameResolver(), undefined);
  const progress = new RequestProgress(5_000, undefined);
  for (const protocol of ['http', 'https']) {
    asked = 0;
    const url = new URL(`${protocol}://127.0.0.1:${receiver.port}/`);
    expect(await failureOf(connector.connect(url, progress))).toMatchObject({
      kind: 'refused-address',
      address: '127.0.0.1',
    });
  }
  progress.end();
  await until(
    () =>
      Promise.resolve(receiver.sockets.length === 2 && receiver.sockets.every(({ destroyed }) => destroyed)),
    'both are closed',
  );
  expect(received).toBe(0);
});
