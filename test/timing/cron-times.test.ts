import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCron } from '../../lib/timing/cron.js';
import { nextCronTime } from '../../lib/timing/cron-times.js';
import { isZone } from '../../lib/timing/zone-clock.js';

const minuteMs = 60_000;

/** Days on which clocks are set, in both hemispheres, by an hour and by half of one, at midnight and later. */
const changes = [
  ['Europe/Lisbon', '2026-03-29'],
  ['Europe/Lisbon', '2026-10-25'],
  ['America/New_York', '2027-03-14'],
  ['America/New_York', '2027-11-07'],
  ['America/Santiago', '2026-09-06'],
  ['America/Santiago', '2027-04-04'],
  ['Australia/Lord_Howe', '2026-10-04'],
  ['Australia/Lord_Howe', '2027-04-04'],
  ['Africa/Casablanca', '2027-02-07'],
  ['America/Sao_Paulo', '2018-11-04'],
  ['America/Sao_Paulo', '2026-07-01'],
  ['Pacific/Apia', '2011-12-30'],
  ['UTC', '2026-01-01'],
] as const;

interface Shown {
  readonly at: number;
  /** `2026-03-29 01:30`, in order of its letters. */
  readonly text: string;
}

/** What the clocks of a zone show at each minute of four days around one, as Intl says. */
function shownAround(zone: string, day: string): readonly Shown[] {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  const from = Date.parse(`${day}T00:00:00Z`) - 2 * 1_440 * minuteMs;
  return Array.from({ length: 4 * 1_440 }, (_, index) => {
    const at = from + index * minuteMs;
    return { at, text: format.format(at) };
  });
}

/** The same without what is in the library: minute by minute, in words of the documentation. */
function expectedTimes(shown: readonly Shown[], minute: number, hours: readonly number[] | '*'): number[] {
  const holds = (text: string): boolean =>
    Number(text.slice(14, 16)) === minute && (hours === '*' || hours.includes(Number(text.slice(11, 13))));
  // In every hour: by the time that passes.
  if (hours === '*') return shown.filter(({ text }) => holds(text)).map(({ at }) => at);
  const times = new Set<number>();
  const seen = new Set<string>();
  let previous: Shown | undefined;
  for (const one of shown) {
    // What clocks leave out comes when they are set.
    if (previous && leftOut(previous.text, one.text).some(holds)) times.add(one.at);
    // What they show twice comes once.
    if (holds(one.text) && !seen.has(one.text)) times.add(one.at);
    seen.add(one.text);
    previous = one;
  }
  return [...times].sort((a, b) => a - b);
}

function leftOut(before: string, after: string): string[] {
  const [from, to] = [before, after].map((text) => Date.parse(`${text.replace(' ', 'T')}Z`)) as [
    number,
    number,
  ];
  const minutes = Math.max(0, (to - from) / minuteMs - 1);
  return Array.from({ length: minutes }, (_, index) =>
    new Date(from + (index + 1) * minuteMs).toISOString().slice(0, 16).replace('T', ' '),
  );
}

const hours = fc.oneof(
  fc.constant('*' as const),
  fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 23 }),
);

test.each(changes)('in %s around %s each time comes as the documentation says', (zone, day) => {
  const shown = shownAround(zone, day);
  // What was shown before the first of these minutes is not known.
  const [from, to] = [shown[1_440]?.at ?? 0, shown.at(-1)?.at ?? 0];
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 59 }), hours, (minute, given) => {
      const fields = parseCron(`${minute} ${given === '*' ? '*' : given.join(',')} * * *`);
      const times: number[] = [];
      for (let at = from - 1; ;) {
        const next = nextCronTime(fields, zone, at);
        if (next === undefined || next > to) break;
        expect(next).toBeGreaterThan(at);
        times.push((at = next));
      }
      expect(times).toEqual(expectedTimes(shown, minute, given).filter((at) => at >= from));
    }),
    { numRuns: 30 },
  );
});

test('from wherever it is asked, the next time is the first one after', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...changes),
      fc.constantFrom('30 2 * * *', '30 1 * * *', '*/20 * * * *', '0 0 * * *', '*/7 0-3 * * *'),
      fc.integer({ min: -86_400, max: 86_400 }),
      ([zone, day], text, seconds) => {
        const fields = parseCron(text);
        const at = Date.parse(`${day}T03:00:00Z`) + seconds * 1_000;
        let walked = at - 3 * 86_400_000;
        while (walked <= at) walked = nextCronTime(fields, zone, walked) ?? Infinity;
        expect(nextCronTime(fields, zone, at)).toBe(walked);
      },
    ),
    { numRuns: 300 },
  );
});

test('zones are those of the IANA database', () => {
  expect(['UTC', 'America/Sao_Paulo', 'Europe/Berlin'].every(isZone)).toBe(true);
  expect(['', 'Mars/Base', 'America/Sao Paulo'].some(isZone)).toBe(false);
});
