import axe from 'axe-core';
import type { Page } from 'playwright-core';

/**
 * What axe-core finds in a page that is a serious or critical obstacle to its users: one line for each element, with the
 * rule it breaks; empty when there is nothing.
 */
export async function findObstacles(page: Page): Promise<readonly string[]> {
  // Evaluated, because the page's Content-Security-Policy lets no script tag in.
  await page.evaluate(axe.source);
  const results = await page.evaluate(async () => {
    const { axe: inPage } = globalThis as unknown as { axe: typeof axe };
    const { violations, passes } = await inPage.run({ resultTypes: ['violations'] });
    return { violations, passed: passes.length };
  });
  if (results.passed === 0) throw new Error('axe-core looked at nothing.');
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, impact, nodes }) =>
      nodes.map(
        ({ html, failureSummary }) => `${id} (${impact}): ${html.slice(0, 200)}\n${failureSummary ?? ''}`,
      ),
    );
}
