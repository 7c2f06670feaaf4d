/** Names a topic or subscription; `subscriptionId` is null for tasks that are not deliveries. */
export interface RouteJson {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
}
