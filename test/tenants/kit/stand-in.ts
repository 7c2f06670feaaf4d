import type { ServerResponse } from 'node:http';
import { startReceiver, type Received } from '../../webhooks/kit/receivers.js';
import { secret, type Tenant } from './tenants.js';

/** What a stand-in answers; a function does it by itself. */
export type Answer =
  | { readonly status?: number; readonly json?: unknown; readonly text?: string }
  | ((response: ServerResponse) => void);

/** The token service and the credentials service, on one port of loopback. */
export interface StandIn {
  readonly service: {
    readonly user: string;
    readonly password: string;
    readonly clientId: string;
    readonly tokenUrl: string;
    readonly credentialsUrl: string;
  };
  /** Forms that the token service got. */
  readonly grants: readonly Record<string, string>[];
  /** What the credentials service got. */
  readonly asked: readonly { readonly body: string; readonly bearer: string | undefined }[];
  /** All requests, whoever got them. */
  readonly requests: readonly Received[];
  /** How tokens are answered from now on; by default they live five minutes and are refreshed for ever. */
  onGrant: (form: Readonly<Record<string, string>>) => Answer;
  /** How credentials are answered from now on; by default those of the tenant. */
  onAsk: (tenant: string, bearer: string | undefined) => Answer;
}

/** A token answer as Keycloak makes it. */
export function tokenAnswer(fields: Readonly<Record<string, unknown>> = {}): Answer {
  return {
    json: {
      access_token: secret(),
      expires_in: 300,
      refresh_token: secret(),
      refresh_expires_in: 0,
      token_type: 'Bearer',
      ...fields,
    },
  };
}

/** A credentials answer. */
export function credentialsOf({ config }: Pick<Tenant, 'config'>): Answer {
  const { host, port, database, user, password } = config;
  return { json: { hostname: host, port, db_name: database, user, password } };
}

/** Starts both until the end of the test. */
export async function startStandIn(...tenants: readonly Tenant[]): Promise<StandIn> {
  const grants: Record<string, string>[] = [];
  const asked: { body: string; bearer: string | undefined }[] = [];
  const receiver = await startReceiver(({ path, body, headers }, response) => {
    const text = body.toString();
    if (path === '/token') {
      const form = Object.fromEntries(new URLSearchParams(text));
      grants.push(form);
      return send(standIn.onGrant(form), response);
    }
    const bearer = headers.authorization;
    asked.push({ body: text, bearer });
    return send(standIn.onAsk(String((JSON.parse(text) as { tenant: unknown }).tenant), bearer), response);
  });
  const origin = new URL(receiver.url).origin;
  const standIn: StandIn = {
    service: {
      user: 'queue',
      password: secret(),
      clientId: 'tarefa',
      tokenUrl: `${origin}/token`,
      credentialsUrl: `${origin}/credentials`,
    },
    grants,
    asked,
    requests: receiver.requests,
    onGrant: () => tokenAnswer(),
    onAsk: (id) => {
      const tenant = tenants.find((one) => one.id === id);
      return tenant ? credentialsOf(tenant) : { status: 404 };
    },
  };
  return standIn;
}

function send(answer: Answer, response: ServerResponse): void {
  if (typeof answer === 'function') return answer(response);
  const { status = 200, json, text } = answer;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(text ?? JSON.stringify(json ?? {}));
}
