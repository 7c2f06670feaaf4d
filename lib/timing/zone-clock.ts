const formats = new Map<string, Intl.DateTimeFormat>();

const parts = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const;

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    const numeric = Object.fromEntries(parts.map((part) => [part, 'numeric']));
    format = new Intl.DateTimeFormat('en-US', {
      ...numeric,
      timeZone: zone,
      calendar: 'gregory',
      hourCycle: 'h23',
    });
    formats.set(zone, format);
  }
  return format;
}

/** True for a name of the IANA database, such as `Europe/Lisbon`. */
export function isZone(zone: string): boolean {
  try {
    return formatOf(zone) !== undefined;
  } catch {
    return false;
  }
}

/** How many ms the clocks of a zone are ahead of UTC at a time. */
export function offsetAt(zone: string, atMs: number): number {
  if (zone === 'UTC') return 0;
  const found = new Map(
    formatOf(zone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts.map(
    (part) => found.get(part) ?? 0,
  );
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(atMs / 1_000) * 1_000;
}

/** When the clocks of a zone are set, between two times with different offsets; to the second. */
export function changeBetween(zone: string, fromMs: number, toMs: number): number {
  let [before, after] = [Math.floor(fromMs / 1_000), Math.ceil(toMs / 1_000)];
  const offset = offsetAt(zone, before * 1_000);
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(zone, middle * 1_000) === offset) before = middle;
    else after = middle;
  }
  return after * 1_000;
}
