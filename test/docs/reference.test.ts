import { format, resolveConfig } from 'prettier';
import { expect, test } from 'vitest';
import { documents, pathOf } from './documents.js';
import { sections, withSections } from './generated.js';

const generated = documents.filter(({ text }) => text.includes(':start -->'));

test.each(generated)(
  '$path says what the sources say (refresh: npx vitest run test/docs -u)',
  async (document) => {
    const file = pathOf(document.path);
    const options = await resolveConfig(file);
    await expect(
      await format(withSections(document.text), { ...options, filepath: file }),
    ).toMatchFileSnapshot(file);
  },
);

test('every section that can be made stands somewhere', () => {
  const absent = Object.keys(sections).filter(
    (name) => !documents.some(({ text }) => text.includes(`<!-- ${name}:start -->`)),
  );
  expect(absent).toEqual([]);
});
