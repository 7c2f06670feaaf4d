import type { SubscriptionAdmin } from '../../admin/subscription-admin.js';
import type { SubscriptionInput } from '../../admin/subscription-input.js';
import type { SubscriptionRecord } from '../../storage/subscriptions.js';
import { UsageError, type Command, type CommandCall, type ExitCode } from '../command.js';
import { maskHeaders, maskUrl } from '../../webhooks/mask-webhook.js';
import { nearest } from '../../values/nearest.js';
import { flagOption, listOption, textOption } from '../option-values.js';
import { createWebhookSecret } from '../webhook-secret.js';

type Action = (call: CommandCall, admin: SubscriptionAdmin) => Promise<readonly SubscriptionRecord[]>;

const words = ['list', 'add', 'remove', 'enable', 'disable', 'secret'] as const;

/** `tarefa subscriptions`. */
export const subscriptionsCommand: Command = {
  name: 'subscriptions',
  summary: 'lists, adds, removes, enables and disables subscriptions, and creates secrets for webhooks',
  words,
  usage: 'list | add <id> <topic> | remove <id> | enable <id> | disable <id> | secret <id>',
  description: `Existing deliveries do not change. A disabled subscription gets no new ones.

    With --webhook, deliveries are sent as signed HTTP requests by workers that deliver webhooks; they check the address before
    each request. Headers may hold secrets: their values are shown as \`***\`, as are passwords and parameters of addresses.
    Removing a subscription also removes its signing secrets.

    secret creates a signing secret for the current address of the webhook, and prints it only once: hand it to the receiver.
    Earlier secrets also sign for another 24 hours. If the application encrypts secrets (\`webhooks.secretKeys\`), its keys must be
    in the variable WEBHOOK_SECRET_KEYS (separated by commas); storing an unencrypted secret next to encrypted ones is refused.`,
  options: {
    topic: { type: 'string', value: '<topic>', description: 'list: only this topic' },
    webhook: {
      type: 'string',
      value: '<url>',
      description: 'add: the URL that deliveries are sent to; without it, code handles them',
    },
    method: { type: 'string', value: '<method>', description: 'add: method of the request. Default POST' },
    header: {
      type: 'string',
      multiple: true,
      value: '<name: value>',
      description: 'add: header of the request',
    },
    tenant: { type: 'string', value: '<id>', description: 'add: only publications of this tenant' },
    group: { type: 'string', value: '<group>', description: 'add: only publications of this group' },
    inactive: { type: 'boolean', description: 'add: adds it disabled' },
    'key-pair': {
      type: 'boolean',
      description:
        'secret: creates an ed25519 key pair and prints its public key, for receivers that should not be able to sign',
    },
  },
  examples: [
    'tarefa subscriptions list',
    'tarefa subscriptions add partner order-placed --webhook https://partner.example/hook --header "authorization: Bearer …"',
    'tarefa subscriptions disable partner',
    'tarefa subscriptions secret partner',
  ],
  run: async (call): Promise<ExitCode> => {
    const [name = 'list'] = call.positionals;
    if (name === 'secret') return createSecret(call);
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (!action) {
      const near = nearest(name, words);
      const hint = near === undefined ? `use one of ${words.join(', ')}` : `did you mean ${near}?`;
      throw new UsageError(`unknown subscriptions command ${JSON.stringify(name)}: ${hint}`);
    }
    // Checked before the database is asked for anything.
    const act = action(call);
    const { admin, database } = await call.queue();
    // Also where this process delivers no webhooks: another subscription may get that id.
    const forget = (id: string): Promise<void> => database.endpoints.forget(id);
    admin.subscriptions.attach({ check: () => undefined, forget });
    show(call, await act(admin.subscriptions));
    return 0;
  },
};

/** What it says is in no other answer, and on standard output alone. */
async function createSecret(call: CommandCall): Promise<ExitCode> {
  const [id = ''] = readArguments(call, 1, 'an id');
  const { database } = await call.queue();
  const isPair = flagOption(call.options, 'key-pair');
  const secret = await createWebhookSecret(database.endpoints, id, { isPair, env: call.env });
  call.output.json({ id, secret });
  call.output.line(secret);
  call.output.note(
    'It is shown only once: hand it to the receiver. Earlier secrets also sign for another 24 hours.',
  );
  return 0;
}

type Prepared = (admin: SubscriptionAdmin) => ReturnType<Action>;

const actions: Readonly<Record<string, (call: CommandCall) => Prepared>> = {
  list: (call) => {
    readArguments(call, 0);
    const topic = textOption(call.options, 'topic');
    return (admin) => admin.list(topic === undefined ? {} : { topic });
  },
  add: (call) => {
    const [id = '', topic = ''] = readArguments(call, 2, 'an id and a topic');
    const input = readInput(call, id, topic);
    return async (admin) => {
      const added = await admin.add(input);
      call.output.line(`subscription ${id} added`);
      return [added];
    };
  },
  remove: (call) => {
    const [id = ''] = readArguments(call, 1, 'an id');
    return async (admin) => {
      await admin.remove(id);
      call.output.line(`subscription ${id} removed`);
      return [];
    };
  },
  enable: (call) => activate(call, true),
  disable: (call) => activate(call, false),
};

function activate(call: CommandCall, active: boolean): Prepared {
  const [id = ''] = readArguments(call, 1, 'an id');
  return async (admin) => {
    const changed = await admin.update(id, { active });
    call.output.line(`subscription ${id} ${active ? 'enabled' : 'disabled'}`);
    return [changed];
  };
}

function readArguments(
  { positionals }: CommandCall,
  count: number,
  what = 'no arguments',
): readonly string[] {
  const [name, ...values] = positionals;
  if (values.length !== count) throw new UsageError(`subscriptions ${name ?? 'list'} takes ${what}`);
  return values;
}

function readInput({ options }: CommandCall, id: string, topic: string): SubscriptionInput {
  const headers = listOption(options, 'header').map(readHeader);
  return {
    id,
    topic,
    url: textOption(options, 'webhook') ?? null,
    httpMethod: textOption(options, 'method') ?? null,
    headers: headers.length === 0 ? null : Object.fromEntries(headers),
    tenant: textOption(options, 'tenant') ?? null,
    group: textOption(options, 'group') ?? null,
    active: !flagOption(options, 'inactive'),
  };
}

/** Does not repeat what it was given: a mistake may be the whole secret. */
function readHeader(text: string): readonly [string, string] {
  const colon = text.indexOf(':');
  if (colon < 1) throw new UsageError('--header must be a name, a colon and a value');
  const [name, value] = [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
  try {
    void new Headers([[name, value]]);
  } catch {
    throw new UsageError(
      `--header ${JSON.stringify(name)} cannot be sent: its name or value contains characters that no header may contain`,
    );
  }
  return [name, value];
}

function show({ output, positionals }: CommandCall, records: readonly SubscriptionRecord[]): void {
  const shown = records.map((record) => ({
    ...record,
    url: record.url === null ? null : maskUrl(record.url),
    headers: record.headers === null ? null : maskHeaders(record.headers),
  }));
  output.json({ subscriptions: shown });
  if ((positionals[0] ?? 'list') !== 'list') return;
  if (shown.length === 0) output.line('no subscriptions');
  output.table(
    ['id', 'topic', 'active', 'tenant', 'group', 'webhook', 'headers'],
    shown.map(({ id, topic, active, tenant, group, url, httpMethod, headers }) => [
      id,
      topic,
      active ? 'yes' : 'no',
      tenant,
      group,
      url === null ? null : `${httpMethod ?? 'POST'} ${url}`,
      headers === null
        ? null
        : Object.entries(headers)
            .map((header) => header.join(': '))
            .join(', '),
    ]),
  );
}
