// Processes of both libraries on one table.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const everyMinute = Array.from({ length: 60 }, (_, minute) => minute).join(',');

/** What a fleet works with: the folder of the real library, the database, the compiled library. */
export class Fleet {
  #where;
  #children = new Set();
  /** What workers wrote to their logs that tells of an error. */
  troubles = [];
  /** How many due tasks each round of a Python notify job has found. */
  notifyJobs = [];
  #closing = false;

  constructor(where) {
    this.#where = where;
  }

  get isMariadb() {
    return !this.#where.url.startsWith('postgres');
  }

  /** Variables that both libraries read. */
  #env(more = {}) {
    const { url, table, folder, library } = this.#where;
    const { protocol, hostname, port, pathname, username, password } = new URL(url);
    const isPostgres = protocol.startsWith('postgres');
    const qualified = isPostgres ? `public.${table}` : table;
    return {
      ...process.env,
      DATABASE_URL: url,
      DB_HOST: hostname,
      DB_PORT: port || (isPostgres ? '5432' : '3306'),
      DB_BASE: pathname.slice(1),
      DB_USER: decodeURIComponent(username),
      DB_PASS: decodeURIComponent(password),
      DB_DRIVER: isPostgres ? 'POSTGRES' : 'MYSQL',
      QUEUE_NAME: table,
      QUEUE_TABLE: qualified,
      QUEUE_SUBSCRIBER_TABLE: `${qualified}_subscriber`,
      QUEUE_MAX_RETRY: '6',
      QUEUE_BASE_INTERVAL_RETRY: '0',
      QUEUE_MINUTE_RETRY_THREAD: everyMinute,
      QUEUE_MINUTE_NOTIFY_THREAD: everyMinute,
      QUEUE_MINUTE_PURGE_THREAD: 'never',
      PYTHONPATH: folder,
      TAREFA_LIBRARY: library,
      ...more,
    };
  }

  /** Prints the statements of the real db_gen. */
  generateTable() {
    const { python, table } = this.#where;
    const { status, stdout, stderr } = spawnSync(python, ['-m', 'nsj_queue_lib.db_gen', 'public', table], {
      env: this.#env(),
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`the real library cannot be run: ${stderr}`);
    return stdout;
  }

  startPython(more) {
    return this.#start('python', this.#where.python, ['-u', here('worker.py')], more);
  }

  startNode(more) {
    return this.#start('node', process.execPath, [here('worker.mjs')], {
      ...more,
      QUEUE_MINUTE_PURGE_THREAD: '0',
    });
  }

  /** Our server of the client-server mode, which makes the tables; answers what makes Python workers join it. */
  async startServer() {
    const child = this.#spawn('server', process.execPath, [fileURLToPath(this.#where.cli), 'server'], {
      NOTIFY_SERVICE_PORT: '0',
      LOCK_SERVICE_PORT: '0',
      CHECK_TASKS_INTERVAL: '1',
      QUEUE_MINUTE_PURGE_THREAD: '0',
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const [, notify, lock] = /port (\d+) for workers, port (\d+) for locks/.exec(line) ?? [];
      if (lock === undefined) continue;
      child.stdout.resume();
      return {
        CLIENT_SERVER_MODE: 'TRUE',
        NOTIFY_SERVICE_PORT: notify,
        LOCK_SERVICE_PORT: lock,
        QUEUE_MAX_RETRY: '3',
      };
    }
    throw new Error(`the server ended before it listened: ${this.troubles.join('; ')}`);
  }

  /** The server of nsj-queue-lib on tables that are there; answers what makes workers of both kinds join it. */
  async startTheirServer() {
    const env = {
      CLIENT_SERVER_MODE: 'TRUE',
      NOTIFY_SERVICE_PORT: await freePort(),
      LOCK_SERVICE_PORT: await freePort(),
      CHECK_TASKS_INTERVAL: '1',
    };
    const child = this.#spawn(
      'their server',
      this.#where.python,
      ['-u', '-m', 'nsj_queue_lib.server.server_main'],
      env,
    );
    for await (const line of createInterface({ input: child.stdout })) {
      if (/Erro/.test(line)) throw new Error(line);
      if (/servi.o de lock iniciada/.test(line)) break;
    }
    child.stdout.resume();
    return env;
  }

  /** Ends one worker as a deployment does. */
  async end({ child }) {
    child.kill();
    await once(child, 'exit');
  }

  /** A Python producer; `insert` answers `ok` or the error. */
  startProducer() {
    const child = this.#spawn('producer', this.#where.python, ['-u', here('producer.py')], {});
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return {
      insert: async (task) => {
        child.stdin.write(`${JSON.stringify({ ...task, payload: JSON.stringify(task.payload) })}\n`);
        return (await lines.next()).value;
      },
      end: () => child.stdin.end(),
    };
  }

  /** Kills one worker as a power failure would, and starts another of its kind. */
  async replace(worker) {
    worker.child.kill('SIGKILL');
    await once(worker.child, 'exit');
    return this.#start(...worker.how);
  }

  async close() {
    this.#closing = true;
    const ends = [...this.#children].map((child) => once(child, 'exit'));
    for (const child of this.#children) child.kill('SIGKILL');
    await Promise.all(ends);
  }

  async #start(kind, program, args, more = {}) {
    const child = this.#spawn(kind, program, args, more);
    const lines = createInterface({ input: child.stdout });
    const said = [];
    createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
    const ready = new Promise((resolve, reject) => {
      lines.on('line', (line) => {
        if (line === 'ready' || line.includes('Esperando notifica')) resolve();
        const [, listed] = /agendadas.*recuperada: (\d+)/.exec(line) ?? [];
        if (listed !== undefined) this.notifyJobs.push(Number(listed));
        if (/Erro desconhecido/.test(line)) this.troubles.push(`${kind}: ${line}`);
      });
      child.once('exit', (code, signal) =>
        reject(
          new Error(`a ${kind} worker ended before it was ready (${signal ?? code}): ${said.join('\n')}`),
        ),
      );
    });
    await ready;
    return { kind, child, how: [kind, program, args, more] };
  }

  /** Makes the tables. */
  migrate() {
    const { cli, table } = this.#where;
    const { status, stderr } = spawnSync(
      process.execPath,
      [fileURLToPath(cli), 'migrate', '--table', table],
      {
        env: this.#env({ QUEUE_MINUTE_PURGE_THREAD: '0' }),
        encoding: 'utf8',
      },
    );
    if (status !== 0) throw new Error(stderr);
  }

  #spawn(kind, program, args, more) {
    const child = spawn(program, args, { env: this.#env(more), stdio: ['pipe', 'pipe', 'pipe'] });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (!this.#closing && /error|warn/i.test(line) && !line.includes('ran out of attempts'))
        this.troubles.push(`${kind}: ${line}`);
    });
    return child;
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return String(port);
}
