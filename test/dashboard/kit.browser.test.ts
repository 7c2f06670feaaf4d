import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { deferred } from '../support/waiting.js';
import { findObstacles } from './kit/axe.js';
import { useBrowser } from './kit/browser.js';
import { startReverseProxy } from './kit/proxy.js';

// What the other tests of the dashboard rely on to fail.

const closers: (() => Promise<void>)[] = [];

// Before the browser's, so that it runs after: what a page asks a closed server for makes it unclean.
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

const browser = useBrowser();

describe('pages', () => {
  it.each([
    ['<script>alert(1)</script>', /console: .*Content Security Policy/],
    ['<p onclick="alert(1)">Press</p>', /console: .*Content Security Policy/],
    ['<p style="color: red">Red</p>', /console: .*Content Security Policy/],
    [
      '<img src="http://elsewhere.example/x.png" alt="">',
      /request elsewhere: http:\/\/elsewhere\.example\/x\.png/,
    ],
  ])('with %s in them are not clean', async (html, fault) => {
    const page = await browser.newPage();
    await page.goto(await serve(htmlPage(`<h1>Page</h1>${html}`, "default-src 'self'; img-src *")));
    // Chromium refuses an inline handler when its event comes; earlier versions did when they read it.
    for (const text of await page.locator('p').all()) await text.click();
    await expect.poll(() => browser.takeFaults().join('\n')).toMatch(fault);
    await forgetRest(page);
  });

  it.each([
    ['thrown', 'setTimeout(() => { throw new Error("oh"); })'],
    ['dialog', 'setTimeout(() => alert("oh"))'],
    ['console', 'console.error("oh")'],
    ['another window', 'open("about:blank")'],
  ])('are not clean once something is %s', async (kind, script) => {
    const page = await browser.newPage();
    await page.goto(await serve(htmlPage('<h1>Page</h1>')));
    expect(browser.takeFaults()).toEqual([]);
    await page.evaluate(script);
    await expect.poll(() => browser.takeFaults().join('\n')).toContain(`${kind}: `);
    await forgetRest(page);
  });

  it('have the theme, size and language that were asked for', async () => {
    const page = await browser.newPage({ theme: 'dark', width: 360, locale: 'pt-BR' });
    await page.goto(await serve(htmlPage('<h1>Page</h1>')));
    const seen = await page.evaluate(
      '[matchMedia("(prefers-color-scheme: dark)").matches, innerWidth, navigator.language]',
    );
    expect(seen).toEqual([true, 360, 'pt-BR']);
  });

  it('are searched for obstacles under a strict policy', async () => {
    const page = await browser.newPage();
    const html = (label: string): string => `<main><h1>Page</h1>${label}<input id="name" type="text"></main>`;
    await page.goto(await serve(htmlPage(html(''))));
    expect((await findObstacles(page)).join('\n')).toMatch(/^label \(critical\): <input/);
    // Another server is another origin.
    const mended = await browser.newPage();
    await mended.goto(await serve(htmlPage(html('<label for="name">Name</label>'))));
    expect(await findObstacles(mended)).toEqual([]);
  });
});

describe('the proxy', () => {
  it('shows the application under another path, its streams event by event, and ends what visitors leave', async () => {
    const paths: string[] = [];
    const left = deferred();
    const goOn = deferred();
    const target = await serve((asked, answer) => {
      paths.push(`${asked.method} ${asked.url} ${asked.headers.host}`);
      if (!asked.url?.endsWith('/stream')) {
        answer.end('page');
        return;
      }
      answer.once('close', () => left.resolve());
      answer.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      void goOn.promise.then(() => answer.write('data: first\n\n'));
    });
    const proxy = await startReverseProxy({ target, from: '/ops/q', to: '/internal/queues' });
    closers.push(proxy.close);
    const statuses = [];
    for (const path of ['/ops/q', '/ops/q/?range=day', '/ops/q/api', '/ops/queues', '/internal/queues']) {
      statuses.push((await fetch(proxy.origin + path, { method: 'POST', body: 'x' })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 404, 404]);
    const { host } = new URL(target);
    expect(paths).toEqual(['', '/?range=day', '/api'].map((rest) => `POST /internal/queues${rest} ${host}`));
    const visit = new AbortController();
    const stream = await fetch(`${proxy.origin}/ops/q/api/stream`, { signal: visit.signal });
    goOn.resolve();
    const first = await stream.body?.getReader().read();
    expect(new TextDecoder().decode(first?.value)).toBe('data: first\n\n');
    visit.abort();
    await left.promise;
  });
});

/** A fault may be told in several ways, one after the other. */
async function forgetRest(page: Page): Promise<void> {
  await page.context().close();
  browser.takeFaults();
}

function htmlPage(body: string, policy = "default-src 'self'"): RequestListener {
  return (_asked, answer) => {
    answer.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy });
    answer.end(`<!doctype html><html lang="en"><title>Page</title>${body}</html>`);
  };
}

async function serve(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
