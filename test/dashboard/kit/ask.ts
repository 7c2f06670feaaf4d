/** What a dashboard has answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed, where it is JSON. */
  readonly body: Readonly<Record<string, unknown>>;
}

interface AskOptions extends Omit<RequestInit, 'headers'> {
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks as the page does, or with other headers. */
export async function ask(url: string, { headers = {}, ...init }: AskOptions = {}): Promise<Answer> {
  // A connection of its own: one that stays open would keep the application from closing.
  const response = await fetch(url, {
    redirect: 'manual',
    ...init,
    headers: { connection: 'close', ...headers },
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (isJson ? JSON.parse(text) : {}) as Answer['body'],
  };
}

/** Asks for an action as the page does; a header that is undefined is left out. */
export function act(
  url: string,
  action: string,
  body: unknown,
  headers: Readonly<Record<string, string | undefined>> = {},
): Promise<Answer> {
  const all = { 'content-type': 'application/json', 'x-tarefa-dashboard': '1', ...headers };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return ask(`${url}/api/actions/${action}`, {
    method: 'POST',
    headers: Object.fromEntries(given),
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}
