// What scripts/record-cli.mjs shows: text, and commands whose answers are recorded between it.

/** Files that the tour begins with. */
export const files = {
  'tasks.ndjson': [
    '{"topic":"send-receipt","payload":{"order":1},"externalKey":"order-1"}',
    '{"topic":"send-receipt","payload":{"order":2},"externalKey":"order-2","priority":80}',
    '{"topic":"send-survey","payload":{"order":1},"delayMs":604800000}',
    '',
  ].join('\n'),
  'wrong.ndjson': [
    '{"topic":"send-receipt","payload":{"order":3}}',
    '{"topik":"send-receipt","payload":{"order":4}}',
    '{"topic":"send-receipt","payload":{"order":5}',
    '',
  ].join('\n'),
};

const work = `node "$TAREFA_TOUR_WORKER"`;

export const tour = [
  `# The command line, tried out

What a new user types, and what is answered. The sessions are recorded by \`npm run docs:cli\`, and a test records them once more; times, speeds and sizes are put in afterwards. Every command and option is in the [reference](reference/cli.md).

The database and the queue are said once:

\`\`\`sh
export DATABASE_URL=postgres://shop@db.internal/shop
export QUEUE_TABLE=shop_queue
\`\`\`

## Tables

\`db-gen\` prints the SQL for a migration of your own, and contacts no database:`,
  { commands: ['npx tarefa db-gen public shop_queue | head -n 5', 'npx tarefa db-gen shop_queue'] },
  '`migrate` does it itself, also on a queue in use. `--check` is for CI:',
  {
    commands: [
      'npx tarefa migrate --check',
      'npx tarefa migrate --plan',
      'npx tarefa migrate',
      'npx tarefa migrate --check',
    ],
  },
  `## Tasks

One from arguments, which prints its id; many from lines of JSON, all or none:`,
  {
    commands: [
      `npx tarefa insert --topic send-receipt --payload '{"order":17}' --external-key order-17`,
      'cat tasks.ndjson',
      'npx tarefa insert --file tasks.ndjson',
      'npx tarefa insert --file wrong.ndjson',
    ],
  },
  { commands: ['npx tarefa tasks', 'npx tarefa status | head -n 11'] },
  'An application works for a while. The mail server has been down for one of the orders:',
  {
    silently: [`MAIL=down ${work}`],
    commands: ['npx tarefa tasks --status failed', 'npx tarefa task 1'],
  },
  'It is up again, so the task is retried:',
  {
    commands: ['npx tarefa retry --all --topic send-receipt --dry-run', 'npx tarefa retry 1'],
  },
  { silently: [work], commands: ['npx tarefa task 1 | head -n 7', 'npx tarefa retry 1'] },
  'What has not begun can be called off, and topics can be held back:',
  {
    commands: [
      'npx tarefa cancel 4',
      'npx tarefa pause --topic send-receipt',
      'npx tarefa pause',
      'npx tarefa resume --topic send-receipt',
    ],
  },
  '## Publications',
  {
    commands: [
      'npx tarefa subscriptions add search-index order-placed',
      'npx tarefa subscriptions add partner order-placed --webhook https://partner.example/hook',
      'npx tarefa subscriptions disable partner',
      'npx tarefa subscriptions list',
      `npx tarefa publish --topic order-placed --payload '{"id":17}'`,
      'npx tarefa publish --topic order-palced',
    ],
  },
  {
    silently: [work],
    commands: ['npx tarefa tasks --topic order-placed', 'npx tarefa subscriptions remove partner'],
  },
  `## Running it

\`tarefa worker --webhooks\` delivers what belongs to subscriptions with a URL, without any code ([deployment](guides/deployment.md)). \`halt\` tells the workers of a queue to stop after their current work; \`purge\` deletes old history:`,
  { commands: ['npx tarefa halt', 'npx tarefa purge --older-than 30 --dry-run'] },
  `## Mistakes

The exit code is 1 when a command was called wrongly, 2 when the database or the queue refuses, 3 when a check fails. Nothing was done then, and no password is shown:`,
  {
    commands: [
      'npx tarefa stauts',
      'npx tarefa tasks --staus failed',
      'npx tarefa task 999',
      'npx tarefa worker',
      'npx tarefa status --url postgres://shop:secret@127.0.0.1:1/shop',
      'npx tarefa pause --table shop_qeue',
    ],
  },
];
