import type { EditedPayload } from '../../admin.js';
import { editsKey, readJson } from '../../columns.js';
import type { TextRow } from '../connections/answers.js';

/** Metadata that tells when a payload was edited, by whom, why, and after which attempt. JSON other than an object is dropped. */
export function editedMetadata(
  { id, metadados, now }: TextRow,
  { by, reason }: Pick<EditedPayload, 'by' | 'reason'>,
): string {
  const metadata: unknown = readJson(metadados);
  const object = isObject(metadata) ? metadata : {};
  const before = object[editsKey];
  const edits = Array.isArray(before) ? (before as unknown[]) : [];
  return JSON.stringify({ ...object, [editsKey]: [...edits, { at: now, by, reason, after: id }] });
}

function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
