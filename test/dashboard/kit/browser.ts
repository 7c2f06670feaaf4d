import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, vi } from 'vitest';
import { watchPage } from './page-faults.js';

/** What a page is opened with; by default a light one of 1280 by 800 in English. */
export interface PageOptions {
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  readonly locale?: string;
  /** Whom the browser says it is when it is asked. Default: nobody. */
  readonly user?: { readonly name: string; readonly password: string };
}

/** The browser of a test file. */
export interface TestBrowser {
  /** A page of a fresh profile, closed after the test. */
  newPage(options?: PageOptions): Promise<Page>;
  /** What went wrong in this test's pages up to now; those taken here do not fail the test. */
  takeFaults(): readonly string[];
}

/** What a page is waited for: a busy machine gives a browser little, and nothing of this says how fast a page is. */
const patienceMs = 60_000;

/**
 * Starts Chromium for the tests of this file; call it where hooks may be. A test fails afterwards when one of its pages
 * logged an error, threw one, broke its Content-Security-Policy, opened a dialog or asked for something elsewhere.
 */
export function useBrowser(): TestBrowser {
  vi.setConfig({ testTimeout: 3 * patienceMs, expect: { poll: { timeout: patienceMs } } });
  let browser: Browser | undefined;
  let contexts: BrowserContext[] = [];
  let faults: string[] = [];

  beforeAll(async () => {
    browser = await launch();
  }, 300_000);

  afterEach(async () => {
    await Promise.all(contexts.map((context) => context.close()));
    const found = takeFaults();
    contexts = [];
    if (found.length > 0) throw new Error(`The page is not clean:\n${found.join('\n')}`);
  });

  afterAll(async () => {
    await browser?.close();
  });

  const takeFaults = (): readonly string[] => {
    const taken = faults;
    faults = [];
    return taken;
  };

  return {
    takeFaults,
    newPage: async ({ theme = 'light', width = 1280, height = 800, locale = 'en-US', user } = {}) => {
      if (browser === undefined)
        throw new Error('Ask for pages in tests and hooks: the browser starts before them.');
      const context = await browser.newContext({
        colorScheme: theme,
        viewport: { width, height },
        locale,
        timezoneId: 'UTC',
        reducedMotion: 'reduce',
        ...(user && { httpCredentials: { username: user.name, password: user.password } }),
      });
      contexts.push(context);
      context.setDefaultTimeout(patienceMs);
      const page = await context.newPage();
      watchPage(page, (fault) => faults.push(fault));
      return page;
    },
  };
}

async function launch(): Promise<Browser> {
  const script = resolve(import.meta.dirname, '../../../scripts/install-chromium.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  return chromium.launch({
    executablePath: stdout.trim(),
    // No page finds its way out, whatever it asks for. (`--no-sandbox` is among what is given by default: these pages
    // are our own, root cannot have a sandbox, and where user namespaces are off nobody can.)
    args: ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'],
  });
}
