import type { SubscriptionRecord } from '../subscriptions.js';

/** A subscription as deliveries carry it: the row of its table. */
export function subscriptionRow(subscription: SubscriptionRecord): Readonly<Record<string, unknown>> {
  const { id, topic, tenant, group, url, httpMethod, headers, active, createdAt } = subscription;
  return {
    id,
    processo: topic,
    tenant: tenant === null ? null : Number(tenant),
    grupo_empresarial: group,
    url,
    http_method: httpMethod,
    headers,
    ativo: active,
    created_at: createdAt?.toISOString() ?? null,
  };
}
