import { act } from './api-client.js';
import { ask } from './dialog.js';
import { h } from './dom.js';
import { phrase, t } from './language.js';
import { routeName, routeText } from './routes.js';
import { announce } from './shell.js';

/**
 * Pauses or resumes a topic or subscription, after asking.
 *
 * @param {import('../api.ts').RouteJson} route
 * @param {boolean} isPaused as it is now
 * @param {() => unknown} afterwards
 */
export function pauseButton(route, isPaused, afterwards) {
  const verb = isPaused ? 'resume' : 'pause';
  return h(
    'button',
    {
      type: 'button',
      class: 'small',
      'data-action': verb,
      'aria-label': t(`${verb}.of`, { route: routeText(route) }),
      onclick: () =>
        ask({
          title: t(`${verb}.title`),
          body: [h('p', null, phrase(`${verb}.body`, { route: routeName(route) }))],
          confirm: t(`action.${verb}`),
          run: async (signal) => {
            const { topic, subscriptionId } = route;
            const body = subscriptionId === null ? { topic } : { subscriptionId };
            await act('pause', { ...body, paused: !isPaused }, signal);
            announce(t(`${verb}.done`, { route: routeText(route) }));
            void afterwards();
          },
        }),
    },
    t(`action.${verb}`),
  );
}
