// Loaded by typedoc: puts what the package exports into groups, by the folder of `lib` that it stands in, and has the names of the first
// page lead to them.
import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { Comment, CommentTag, Converter } from 'typedoc';

const lib = resolve(import.meta.dirname, '../lib');
const groups = JSON.parse(readFileSync(resolve(import.meta.dirname, 'api-groups.json'), 'utf8'));

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.on('bootstrapEnd', () => app.options.setValue('categoryOrder', Object.keys(groups)));
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    const exported = (project.children ?? []).flatMap((module) => module.children ?? []);
    for (const one of exported) put(project, one);
    const byName = new Map(exported.map((one) => [`\`${one.name}\``, one]));
    project.readme = project.readme?.map((part) => {
      const target = part.kind === 'code' ? byName.get(part.text) : undefined;
      return target ? { kind: 'inline-tag', tag: '@link', text: target.name, target } : part;
    });
  });
}

function put(project, reflection) {
  const source = project.getSymbolIdFromReflection(reflection)?.fileName;
  const file = source === undefined ? '' : relative(lib, source);
  const group = groupOf(file);
  if (group === undefined)
    throw new Error(`scripts/api-groups.json has no place for ${reflection.name} (${file})`);
  const holder = reflection.signatures?.[0] ?? reflection;
  holder.comment ??= new Comment();
  holder.comment.blockTags.push(new CommentTag('@category', [{ kind: 'text', text: group }]));
}

/** The longest place that fits counts. */
function groupOf(file) {
  const places = Object.entries(groups).flatMap(([group, all]) => all.map((place) => ({ group, place })));
  return places
    .filter(({ place }) => file.startsWith(place))
    .toSorted((a, b) => b.place.length - a.place.length)[0]?.group;
}
