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
  // The application of whoever reads this: its mail server is down.
  'worker.mjs': `import 'reflect-metadata';
const { QueueModule, TaskHandler, Subscriber, QueueEvents } = await import(process.env.TAREFA_LIBRARY);
`,
};

export const tour = [
  `# The command line, tried out

What a new user types, and what is answered. These sessions are recorded by \`npm run docs:cli\`, and a test records them once more: only times, sizes and speeds are made up.`,
  { commands: ['npx tarefa db-gen public shop_queue | head -n 5', 'npx tarefa db-gen shop_queue'] },
  { commands: ['npx tarefa migrate --check', 'npx tarefa migrate --plan', 'npx tarefa migrate', 'npx tarefa migrate --check'] },
  { commands: [
    `npx tarefa insert --topic send-receipt --payload '{"order":17}' --external-key order-17`,
    'npx tarefa insert --file tasks.ndjson',
    'npx tarefa insert --file wrong.ndjson',
  ] },
  { commands: ['npx tarefa status'] },
  { commands: ['npx tarefa tasks', 'npx tarefa task 1', 'npx tarefa cancel 2', 'npx tarefa bury 3', 'npx tarefa retry 3', 'npx tarefa tasks'] },
  { commands: ['npx tarefa subscriptions add search-index order-placed', 'npx tarefa subscriptions add partner order-placed --webhook https://partner.example/hook', 'npx tarefa subscriptions list', `npx tarefa publish --topic order-placed --payload '{"id":17}'`, 'npx tarefa subscriptions disable partner', 'npx tarefa subscriptions remove partner', 'npx tarefa subscriptions remove partner'] },
  { commands: ['npx tarefa pause --topic send-receipt', 'npx tarefa pause', 'npx tarefa resume --topic send-receipt'] },
  { commands: ['npx tarefa purge --older-than 30 --dry-run', 'npx tarefa halt', 'npx tarefa halt --wait --timeout 1'] },
  { commands: ['npx tarefa stauts', 'npx tarefa tasks --staus failed', 'npx tarefa task 999', 'npx tarefa worker', 'npx tarefa status --url postgres://shop:secret@127.0.0.1:1/shop', 'npx tarefa status --table shop_qeue'] },
];
