// `npm run check:structure`: the folders of lib/ are the architecture. docs/architecture.md draws the same floors.

/**
 * From the bottom to the top: files import from floors below their own. Those of one floor do not import each other, so no
 * two folders can.
 */
const floors = [
  ['errors\\.ts', 'version\\.ts'],
  ['values/', 'timing/'],
  // The words of a task and the seam that speaks of them are one.
  ['(?:task\\.ts|storage/(?:claiming/)?[^/]+\\.ts)', 'redaction/'],
  ['options/', 'events\\.ts'],
  ['coordination/[^/]+\\.ts', 'observability/', 'tenants/', 'embedded/'],
  [
    'storage/postgres/',
    'storage/mysql/',
    'coordination/postgres/',
    'coordination/mysql/',
    'coordination/lease/',
    'coordination/tcp/',
    'coordination/brokers/',
  ],
  ['client/'],
  ['subscribers/', 'admin/'],
  ['maintenance/'],
  ['worker/'],
  ['webhooks/'],
  ['dashboard/'],
  ['assembly/'],
  ['queue\\.module\\.ts'],
  ['cli/', 'testing/', 'terminus/', 'schematics/', 'index\\.ts'],
];

const anyOf = (paths) => `^lib/(?:${paths.join('|')})`;

/** What prepares and changes tables by hand knows which database it is. */
const schemaCommands = '^lib/cli/schema/';

/** Its public constructor takes a handle and a table's name: there is no assembly that could choose the database. */
const clientWithoutModule = '^lib/client/queue-client\\.ts$';

export default {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Files that import each other are one file that nobody can read alone.',
      severity: 'error',
      from: { path: '^lib/' },
      to: { circular: true },
    },
    {
      name: 'databases-behind-the-seam',
      comment: 'Only assembly/ and the schema commands know which database it is.',
      severity: 'error',
      from: {
        path: '^lib/',
        pathNot: ['^lib/storage/[^/]+/', '^lib/assembly/', schemaCommands, clientWithoutModule],
      },
      to: { path: '^lib/storage/[^/]+/' },
    },
    {
      name: 'databases-apart',
      comment: 'What two databases share belongs to the seam.',
      severity: 'error',
      from: { path: '^lib/storage/([^/]+)/' },
      to: { path: '^lib/storage/[^/]+/', pathNot: ['^lib/storage/$1/', '^lib/storage/claiming/'] },
    },
    {
      name: 'coordination-apart-from-databases',
      comment: 'assembly/ joins a session to the bell and the liveness that need one.',
      severity: 'error',
      from: { path: '^lib/coordination/' },
      to: { path: '^lib/storage/[^/]+/' },
    },
    {
      name: 'drivers-behind-the-seam',
      comment: "A driver's classes are a database's business.",
      severity: 'error',
      from: {
        path: '^lib/',
        // The embedded server is PostgreSQL, and operators' schema commands open a pool of their own.
        pathNot: [
          '^lib/storage/postgres/',
          '^lib/storage/mysql/',
          '^lib/storage/driver-client\\.ts$',
          '^lib/embedded/',
          '^lib/assembly/(?:operators|mysql-coordination)\\.ts$',
        ],
      },
      to: { path: ['node_modules/pg/', 'node_modules/@types/pg/', 'node_modules/mysql2/'] },
    },
    ...floors.slice(0, -1).map((floor, index) => ({
      name: `no-way-up-from-floor-${index}`,
      comment: `${floor.join(', ')} must not know what stands above them.`.replaceAll('\\', ''),
      severity: 'error',
      from: { path: anyOf(floor) },
      to: { path: anyOf(floors.slice(index + 1).flat()) },
    })),
    ...floors
      .filter((floor) => floor.length > 1)
      .flatMap((floor) =>
        floor.map((unit) => ({
          name: `${unit}-apart-from-its-floor`.replaceAll('\\', ''),
          comment: 'Folders of one floor do not know each other.',
          severity: 'error',
          from: { path: anyOf([unit]) },
          to: { path: anyOf(floor.filter((other) => other !== unit)) },
        })),
      ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'default'] },
  },
};
