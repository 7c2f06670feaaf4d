import type { SqlHandle } from '../../storage/sql-handle.js';
import type { AddressPolicy } from '../../webhooks/address-policy.js';
import { readWebhookMethod, webhookMethods } from '../../values/webhook-method.js';
import { describeUrl, readWebhookUrl } from '../../webhooks/webhook-url.js';
import type { Survey } from '../../storage/postgres/migration/migration-steps.js';
import { counted, type Finding } from '../../storage/postgres/adoption/finding.js';

const shown = 5;

/** What webhooks here would refuse, or do otherwise. Names subscriptions, and of URLs nothing that may be secret. */
export async function readSubscriptions(
  sql: SqlHandle,
  { tables, found }: Pick<Survey, 'tables' | 'found'>,
  policy: AddressPolicy,
): Promise<readonly Finding[]> {
  const { subscriptions } = tables;
  if (subscriptions === undefined) return [];
  if (found.subscriptionColumns.size === 0) {
    return [
      {
        kind: 'no-subscriptions',
        weight: 'note',
        what: `the subscriptions table ${subscriptions} does not exist`,
        then: 'it will be created. If it has another name, give --subscriptions',
      },
    ];
  }
  const { rows } = await sql.query(
    `select id::text as id, url::text as url, http_method::text as method from ${subscriptions} where url is not null order by id`,
  );
  const refused: string[] = [];
  const methods: string[] = [];
  const plain: string[] = [];
  for (const row of rows) {
    const [id, url] = [String(row['id']), String(row['url'])];
    const method = row['method'] as string | null;
    const problem = refusal(url, policy);
    if (problem !== undefined) refused.push(`${id}: ${problem}`);
    else if (new URL(url).protocol === 'http:') plain.push(`${id}: ${describeUrl(url)}`);
    if (readWebhookMethod(method) === undefined) methods.push(`${id}: ${method ?? 'none'}`);
  }
  return [
    ...finding('refused-urls', refused, {
      weight: 'warning',
      what: `${counted(refused.length, 'subscription has a URL', 'subscriptions have URLs')} that webhooks refuse`,
      then: 'their deliveries fail until the URL is changed, or webhooks.allowedAddresses names the address',
    }),
    ...finding('unknown-methods', methods, {
      weight: 'warning',
      what: `${counted(methods.length, 'subscription has', 'subscriptions have')} no method, or a method that webhooks do not support`,
      then: `their deliveries fail, as before, until it is one of ${webhookMethods.join(', ')}`,
    }),
    ...finding('plain-http', plain, {
      weight: 'note',
      what: `${counted(plain.length, 'subscription has a URL', 'subscriptions have URLs')} with http`,
      then: `redirects to https are not followed here unless webhooks.redirects is 'follow': better change the URLs to https`,
    }),
    ...(rows.length > 0 ? [webhooksFinding(rows.length)] : []),
  ];
}

function webhooksFinding(count: number): Finding {
  return {
    kind: 'webhooks',
    weight: 'note',
    count,
    what: counted(count, 'subscription has a URL', 'subscriptions have URLs'),
    then: 'here only 2xx is a success, the time limit covers the whole request, and webhooks: true is required; see docs/guides/webhooks.md',
  };
}

function finding(
  kind: string,
  examples: readonly string[],
  rest: Pick<Finding, 'weight' | 'what' | 'then'>,
): readonly Finding[] {
  if (examples.length === 0) return [];
  return [{ kind, ...rest, count: examples.length, examples: examples.slice(0, shown) }];
}

function refusal(url: string, policy: AddressPolicy): string | undefined {
  try {
    readWebhookUrl(url, policy);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
