import type { Page } from 'playwright-core';
import type { Pool } from 'pg';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createDatabase, type TestDatabase } from '../../support/database.js';
import { useBrowser, type PageOptions, type TestBrowser } from './browser.js';
import { startDashboardApp, type DashboardApp, type DashboardAppOptions } from './dashboard-app.js';

/** The dashboard of a test file. */
export interface DashboardBench extends TestBrowser {
  readonly database: TestDatabase;
  readonly pool: Pool;
  /** The application of the file. */
  readonly app: DashboardApp;
  /** Another one on the same queue, closed after the test. */
  start(options?: DashboardAppOptions): Promise<DashboardApp>;
  /** A page of the dashboard, once it shows its heading: `#/tasks`, of the file's application if nothing else is said. */
  open(hash?: string, options?: PageOptions & { readonly url?: string }): Promise<Page>;
  /** Forgets everything that is in the queue and known of it. */
  clear(): Promise<void>;
}

/**
 * Makes a database and an application for the file, and starts Chromium. Without handlers it has no worker: what the tests
 * put into the table stays as it is.
 */
export function useDashboard(options: DashboardAppOptions = {}): DashboardBench {
  let database: TestDatabase;
  let app: DashboardApp;
  let others: DashboardApp[] = [];

  beforeAll(async () => {
    database = await createDatabase();
    app = await startDashboardApp(database.url, options);
  });
  afterEach(async () => {
    await Promise.all(others.map((other) => other.close()));
    others = [];
    app.told.length = 0;
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });
  // Its hooks come last, so they run first: pages that are open when their server closes are not clean.
  const browser = useBrowser();

  return {
    ...browser,
    get database() {
      return database;
    },
    get pool() {
      return database.pool;
    },
    get app() {
      return app;
    },
    start: async (given = {}) => {
      const other = await startDashboardApp(database.url, given);
      others.push(other);
      return other;
    },
    open: async (hash = '', { url = app.url, ...page } = {}) => {
      const opened = await browser.newPage(page);
      await opened.goto(`${url}${hash}`);
      await opened.getByRole('main').getByRole('heading', { level: 1 }).waitFor();
      return opened;
    },
    clear: async () => {
      await database.pool.query(
        'truncate tasks, tasks_subscriber, tasks_history, tasks_worker, tasks_paused, tasks_schedule',
      );
      await database.pool.query(`do $$ begin
        if to_regclass('tasks_webhook') is not null then truncate tasks_webhook; end if;
      end $$`);
    },
  };
}
