import { readParts, withChanges } from '../values/json-parts.js';
import { editsKey } from './columns.js';

/** When a payload was edited, by whom, why, and after which attempt. */
export interface MetadataEdit {
  readonly at: string;
  readonly by: string | null;
  readonly reason: string | null;
  readonly after: string;
}

/**
 * Metadata that tells of one more edit of its task's payload; all else stays as it is written. JSON other than an object is
 * dropped.
 *
 * @param metadata as it is stored
 */
export function withEdit(
  metadata: string | null | undefined,
  { at, by, reason, after }: MetadataEdit,
): string {
  const edit = JSON.stringify({ at, by, reason, after });
  const json = isObject(metadata) ? metadata : '{}';
  const { members = [], end } = readParts(json);
  const edits = members.findLast(({ key }) => key === editsKey)?.value;
  if (!edits) {
    const member = `${members.length > 0 ? ',' : ''}"${editsKey}":[${edit}]`;
    return withChanges(json, [{ start: end - 1, end: end - 1, text: member }]);
  }
  if (!edits.isList) return withChanges(json, [{ ...edits, text: `[${edit}]` }]);
  const separator = edits.members?.length ? ',' : '';
  return withChanges(json, [{ start: edits.end - 1, end: edits.end - 1, text: `${separator}${edit}` }]);
}

function isObject(json: string | null | undefined): json is string {
  if (typeof json !== 'string' || !json.trimStart().startsWith('{')) return false;
  try {
    JSON.parse(json);
    return true;
  } catch {
    return false;
  }
}
