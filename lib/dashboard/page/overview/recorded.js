/** @typedef {import('../../api.ts').HistoryJson} HistoryJson */
/** @typedef {import('../../api.ts').PointJson} PointJson */

/** Points that charts have at least, however young the queue is. */
const leastPoints = 10;

/**
 * Where charts begin: what is empty before the first record of a young queue would leave them looking empty.
 *
 * @param {HistoryJson} history of all routes
 */
export function firstShown({ points }) {
  return Math.max(0, Math.min(firstRecorded(points), points.length - leastPoints));
}

/** Whole minutes that the number per minute is taken from. */
const recentPoints = 5;

/**
 * Attempts that ended per minute: over the last whole minutes, or since the first of them as long as there are few.
 *
 * @param {readonly PointJson[]} points of the last hour
 * @param {number} now ms
 */
export function endedPerMinute(points, now) {
  const from = Math.max(firstRecorded(points), points.length - 1 - recentPoints);
  const whole = points.slice(from, -1);
  if (whole.length >= recentPoints) return sumOf(whole) / whole.length;
  const since = points[from];
  // Less than a minute counts as one: what was seen in seconds says little of what a minute brings.
  return since ? sumOf(points.slice(from)) / Math.max(1, (now - Date.parse(since.at)) / 60_000) : 0;
}

/** @param {readonly PointJson[]} points */
function sumOf(points) {
  return points.reduce((sum, { succeeded, failed }) => sum + succeeded + failed, 0);
}

/**
 * The length where nothing was recorded.
 *
 * @param {readonly PointJson[]} points
 */
function firstRecorded(points) {
  const index = points.findIndex(
    ({ succeeded, failed, buried, delivered, lagMs }) =>
      succeeded + failed + buried + delivered > 0 || lagMs !== null,
  );
  return index < 0 ? points.length : index;
}
