/** What a log says about a connection, in order: that it was lost, that it is back. */
export function connectionLines(log: readonly string[], connection: string): readonly ('lost' | 'back')[] {
  const lines = log.filter((line) => line.startsWith(`the ${connection} connection`));
  return lines.map((line) => (line.includes('was lost') ? 'lost' : 'back'));
}
