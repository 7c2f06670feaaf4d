/** Readable on light and on dark ground: the ground is the page's own. */
const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .soft { fill: #656d76 }
  .axis { stroke: #d0d7de }
  .range { stroke: #1f2328 }
  .own { color: #0969da }
  .peer { color: #8c959f }
  .floor { color: #bf8700 }
  .bar { fill: currentColor }
  .line { fill: none; stroke: currentColor; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .soft { fill: #9198a1 }
    .axis { stroke: #3d444d }
    .range { stroke: #e6edf3 }
    .own { color: #4493f8 }
    .floor { color: #d29922 }
  }`;

/** A whole picture; `title` is what screen readers say. */
export function svg(width: number, height: number, title: string, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${escapeXml(title)}</title>
<style>${style}</style>
${parts.join('\n')}
</svg>
`;
}

export function svgText(
  x: number,
  y: number,
  text: string,
  anchor: 'start' | 'middle' | 'end' = 'start',
  kind = '',
): string {
  const attributes = `x="${x}" y="${y}" text-anchor="${anchor}"${kind === '' ? '' : ` class="${kind}"`}`;
  return `<text ${attributes}>${escapeXml(text)}</text>`;
}

/** The class of a peer's shapes. */
export function kindOf(peer: string): 'own' | 'floor' | 'peer' {
  if (peer.startsWith('tarefa')) return 'own';
  return peer.startsWith('bare') ? 'floor' : 'peer';
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** Where an axis ends: the next round number that is not below `value`. */
export function niceCeiling(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = roundSteps.find((factor) => factor * power >= value * (1 - 1e-9)) ?? 10;
  return step * power;
}

/** Of each power of ten; their quarters are round as well. */
const roundSteps = [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10];
