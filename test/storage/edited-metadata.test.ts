import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { withEdit } from '../../lib/storage/edited-metadata.js';

const edit = { at: '2026-07-01T10:00:00Z', by: 'ana', reason: null, after: '7' };
const text = JSON.stringify(edit);

test.each([
  ['{}', `{"tarefa:edits":[${text}]}`],
  [' { "n": 1970670598291982290 } ', ` { "n": 1970670598291982290 ,"tarefa:edits":[${text}]} `],
  ['{"tarefa:edits":[ ],"n":1.10}', `{"tarefa:edits":[ ${text}],"n":1.10}`],
  ['{"tarefa:edits":[{"n":1e400}]}', `{"tarefa:edits":[{"n":1e400},${text}]}`],
  ['{"tarefa:edits":{"a":1},"a":"]}"}', `{"tarefa:edits":[${text}],"a":"]}"}`],
  [null, `{"tarefa:edits":[${text}]}`],
  ['[1]', `{"tarefa:edits":[${text}]}`],
  ['{"cut":', `{"tarefa:edits":[${text}]}`],
])('metadata %s tells of one more edit, and all else is as it was written', (before, after) => {
  expect(withEdit(before, edit)).toBe(after);
});

test('whatever it holds stays, and each edit is told', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(2), (object, indent) => {
      const once = withEdit(JSON.stringify(object, undefined, indent), edit);
      const twice: unknown = JSON.parse(withEdit(once, { ...edit, after: '9' }));
      const before = object['tarefa:edits'];
      const edits = [...(Array.isArray(before) ? before : []), edit, { ...edit, after: '9' }];
      expect(twice).toEqual(JSON.parse(JSON.stringify({ ...object, 'tarefa:edits': edits })));
    }),
  );
});
