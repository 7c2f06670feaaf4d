import { h } from './dom.js';
import { fill } from './fill.js';
import { chooseLanguage, currentLanguage, t } from './language.js';
import { queueSwitch } from './queue-switch.js';
import { hashOf } from './router.js';
import { visibleLine } from './text.js';
import { chosenTheme, chooseTheme } from './theme.js';

/** @typedef {import('./router.js').ViewName} ViewName */

const status = h('div', { class: 'unseen', role: 'status', 'aria-live': 'polite', id: 'announcements' });

/** What was said is said again with what follows so soon after: a view that opens must not drown what opened it. */
const keptMs = 2000;

let said = { text: '', at: Number.NEGATIVE_INFINITY };

/**
 * Says something to who cannot see the page change.
 *
 * @param {string} text
 */
export function announce(text) {
  const now = performance.now();
  const words = now - said.at < keptMs && said.text !== text ? `${said.text} ${text}` : text;
  said = { text, at: now };
  // Emptied first, so that the same words are said again; later, when a dialog that hid this has closed.
  status.textContent = '';
  setTimeout(() => {
    status.textContent = words;
  }, 200);
}

/**
 * What is around every view: skip link, header with navigation and settings, and the main part.
 *
 * @param {import('../api.ts').InfoJson | null} info
 * @param {() => void} onLanguage
 */
export function renderShell(info, onLanguage) {
  const main = h('main', { id: 'main', tabindex: '-1' });
  const header = h('header', { class: 'top' });
  const switcher = info && queueSwitch(info);
  const footer = h('footer', { class: 'foot' });
  fill(document.body);
  document.body.append(
    h('a', { class: 'skip', href: '#main', onclick: skip }, t('shell.skip')),
    header,
    main,
    footer,
    status,
  );
  if (info) {
    footer.textContent = t('shell.footer', {
      table: visibleLine(info.table),
      version: visibleLine(info.version),
      mode: t(info.actions.length > 0 ? 'shell.actions' : 'shell.readOnly'),
    });
  }
  return { main, markPlace };

  /** @param {ViewName} view */
  function markPlace(view) {
    fill(
      header,
      h(
        'a',
        { class: 'brand', href: hashOf('overview') },
        h('span', { class: 'brand-name' }, 'Tarefa'),
        info &&
          !switcher &&
          info.queue !== 'default' &&
          h('bdi', { class: 'brand-queue' }, visibleLine(info.queue)),
      ),
      switcher,
      navigation(view, info?.publications ?? true),
      h('div', { class: 'settings' }, languageField(onLanguage), themeField()),
    );
  }

  /** @param {Event} event */
  function skip(event) {
    // The hash is the place: it must not become `#main`.
    event.preventDefault();
    main.focus();
  }
}

/**
 * @param {ViewName} view
 * @param {boolean} hasSubscriptions
 */
function navigation(view, hasSubscriptions) {
  /** @type {readonly [Exclude<ViewName, 'missing'>, string, readonly ViewName[]][]} */
  const links = [
    ['overview', t('nav.overview'), ['overview']],
    ['tasks', t('nav.tasks'), ['tasks', 'task']],
    ['schedules', t('nav.schedules'), ['schedules']],
    ...(hasSubscriptions
      ? [
          /** @type {['subscriptions', string, ViewName[]]} */ ([
            'subscriptions',
            t('nav.subscriptions'),
            ['subscriptions', 'subscription'],
          ]),
        ]
      : []),
  ];
  return h(
    'nav',
    { 'aria-label': t('nav.label') },
    links.map(([to, label, views]) =>
      h('a', { href: hashOf(to), 'aria-current': views.includes(view) ? 'page' : null }, label),
    ),
  );
}

/** @param {() => void} onLanguage */
function languageField(onLanguage) {
  const select = h(
    'select',
    {
      id: 'language',
      'aria-label': t('shell.language'),
      'data-own': `language-${currentLanguage()}`,
      onchange: () => {
        void chooseLanguage(select.value === 'pt' ? 'pt' : 'en').then(() => {
          onLanguage();
          document.getElementById('language')?.focus();
        });
      },
    },
    h('option', { value: 'en', lang: 'en', selected: currentLanguage() === 'en' }, 'English'),
    h('option', { value: 'pt', lang: 'pt-BR', selected: currentLanguage() === 'pt' }, 'Português'),
  );
  return select;
}

function themeField() {
  const select = h(
    'select',
    {
      id: 'theme',
      'aria-label': t('shell.theme'),
      'data-own': `theme-${currentLanguage()}`,
      onchange: () =>
        chooseTheme(select.value === 'light' || select.value === 'dark' ? select.value : 'system'),
    },
    /** @type {const} */ (['system', 'light', 'dark']).map((theme) =>
      h('option', { value: theme, selected: chosenTheme() === theme }, t(`shell.theme.${theme}`)),
    ),
  );
  return select;
}
