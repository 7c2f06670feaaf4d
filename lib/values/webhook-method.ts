const withBody = ['POST', 'PUT'];

/** What a webhook may be sent by, in any case. */
export const webhookMethods: readonly string[] = [...withBody, 'GET', 'DELETE'];

/** The method as it is sent; undefined when it is none of those. */
export function readWebhookMethod(given: string | null): string | undefined {
  const method = given?.trim().toUpperCase() ?? '';
  return webhookMethods.includes(method) ? method : undefined;
}

export function hasBody(method: string): boolean {
  return withBody.includes(method);
}
