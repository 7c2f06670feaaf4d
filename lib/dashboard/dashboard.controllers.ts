import {
  Controller,
  Get,
  Inject,
  NotFoundException,
  Post,
  Req,
  Res,
  SetMetadata,
  StreamableFile,
  UseFilters,
  UseGuards,
  VERSION_NEUTRAL,
  type CanActivate,
  type InjectionToken,
  type OnModuleDestroy,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { answerEvents, answerJson, DashboardForbiddenFilter } from './answer.js';
import type { BulkAction } from './api.js';
import type { DashboardAction, ResolvedDashboardOptions } from '../options/dashboard-options.js';
import { bulkKinds, type ActionRequest, type DashboardActions } from './dashboard-actions.js';
import type { Dashboard } from './dashboard.js';
import { OwnPageGuard } from './own-page.guard.js';
import { readPage, versionPrefix } from './page-files.js';
import { readBody } from './request-body.js';
import { headerOf, type Answer, type DashboardRequest } from './request.js';
import { SameSiteGuard } from './same-site.guard.js';

type ControllerOptions = Pick<ResolvedDashboardOptions, 'path' | 'decorators' | 'actor'>;
/** As `@UseGuards()` takes them. */
type Guards = readonly (Type<CanActivate> | CanActivate)[];

/** Classes of controllers: of the page's files, of what it reads and of what it does. */
export type Controllers = Readonly<Record<'page' | 'read' | 'action', Type<unknown>>>;

/** For `@nestjs/swagger`: it is not part of the application's interface. */
const undocumented = SetMetadata('swagger/apiExcludeController', [true]);

/**
 * Controllers of one dashboard: Nest takes paths and guards from a class, so each dashboard has classes of its own. They use
 * nothing of Express or Fastify.
 *
 * @param token of the {@link Dashboard}
 */
export async function makeControllers(
  token: InjectionToken<Dashboard>,
  guards: Guards,
  options: ControllerOptions,
): Promise<Controllers> {
  const controllers = {
    page: await makePageController(guards, options),
    read: makeReadController(token, guards, options),
    action: makeActionController(token, guards, options),
  };
  for (const controller of Object.values(controllers)) {
    for (const decorate of [UseFilters(DashboardForbiddenFilter), undocumented, ...options.decorators]) {
      decorate(controller);
    }
  }
  return controllers;
}

async function makePageController(guards: Guards, { path }: ControllerOptions): Promise<Type<unknown>> {
  const { document, policy, version, assets } = await readPage();

  @UseGuards(OwnPageGuard, ...guards)
  @Controller({ path, version: VERSION_NEUTRAL })
  class DashboardPageController {
    constructor(@Inject(HttpAdapterHost) readonly host: HttpAdapterHost) {}

    @Get()
    async page(@Res() answer: Answer): Promise<void> {
      answer.header('Content-Type', 'text/html; charset=utf-8');
      answer.header('Content-Security-Policy', policy);
      await this.host.httpAdapter.reply(answer, document, 200);
    }

    @Get(['assets/:first', 'assets/:first/:second', 'assets/:first/:second/:third'])
    async asset(@Req() request: DashboardRequest, @Res() answer: Answer): Promise<void> {
      const parts = Object.values(request.params);
      // Another version is that of a page which another process has served, before or after this one: it gets what there is.
      const isVersioned = parts[0]?.startsWith(versionPrefix) === true;
      const asset = assets.get((isVersioned ? parts.slice(1) : parts).join('/'));
      if (!asset) return answerJson(this.host, answer, notFound);
      const { type, content, encoding } = await asset.send(headerOf(request, 'accept-encoding') ?? '');
      const vary = answer.getHeader('Vary');
      // Who allows other origins varies by them, too.
      answer.header('Vary', typeof vary === 'string' ? `${vary}, Accept-Encoding` : 'Accept-Encoding');
      if (encoding !== undefined) answer.header('Content-Encoding', encoding);
      if (parts[0] === version) answer.header('Cache-Control', 'private, max-age=31536000, immutable');
      const file = new StreamableFile(content, { type, length: content.length });
      await this.host.httpAdapter.reply(answer, file, 200);
    }
  }
  return DashboardPageController;
}

function makeReadController(
  token: InjectionToken<Dashboard>,
  guards: Guards,
  { path, actor }: ControllerOptions,
): Type<unknown> {
  @UseGuards(OwnPageGuard, ...guards)
  @Controller({ path: `${path}/api`, version: VERSION_NEUTRAL })
  class DashboardReadController implements OnModuleDestroy {
    constructor(
      @Inject(token) readonly dashboard: Dashboard,
      @Inject(HttpAdapterHost) readonly host: HttpAdapterHost,
    ) {}

    /** A server that closes waits for its streams. */
    onModuleDestroy(): void {
      this.dashboard.live.close();
    }

    @Get('info')
    info(@Res() answer: Answer): Promise<void> {
      return answerJson(this.host, answer, () => this.dashboard.info());
    }

    @Get('overview')
    overview(@Res() answer: Answer): Promise<void> {
      return this.#answer(answer, () => this.dashboard.overview.read());
    }

    @Get('stream')
    stream(@Req() request: DashboardRequest, @Res() answer: Answer): void {
      answerEvents(request, answer, this.dashboard.live.watch());
    }

    @Get('history')
    history(@Req() { query }: DashboardRequest, @Res() answer: Answer): Promise<void> {
      return this.#answer(answer, () => this.dashboard.history(query));
    }

    @Get('counts')
    counts(@Res() answer: Answer): Promise<void> {
      return this.#answer(answer, () => this.dashboard.overview.allCounts());
    }

    @Get('tasks')
    tasks(@Req() request: DashboardRequest, @Res() answer: Answer): Promise<void> {
      return this.#answer(answer, () => this.dashboard.list(request.query, nameOf(actor, request)));
    }

    @Get('tasks/:id')
    task(@Req() request: DashboardRequest, @Res() answer: Answer): Promise<void> {
      const id = named(request, 'id');
      return this.#answer(answer, () => this.dashboard.tasks.find(id), { id });
    }

    @Get('tasks/:id/payload')
    payload(@Req() request: DashboardRequest, @Res() answer: Answer): Promise<void> {
      const id = named(request, 'id');
      return this.#answer(answer, () => this.dashboard.payload(id, nameOf(actor, request)), { id });
    }

    @Get('schedules')
    schedules(@Res() answer: Answer): Promise<void> {
      return this.#answer(answer, () => this.dashboard.schedules());
    }

    @Get('subscriptions')
    subscriptions(@Res() answer: Answer): Promise<void> {
      return this.#answer(answer, () => this.dashboard.subscriptions.list());
    }

    @Get('subscriptions/:id')
    subscription(@Req() request: DashboardRequest, @Res() answer: Answer): Promise<void> {
      const id = named(request, 'id');
      return this.#answer(answer, () => this.dashboard.subscriptions.find(id), { id });
    }

    #answer(
      answer: Answer,
      work: () => Promise<object>,
      values?: Readonly<Record<string, string>>,
    ): Promise<void> {
      return answerJson(this.host, answer, () => this.dashboard.explained(work), values);
    }
  }
  return DashboardReadController;
}

function makeActionController(
  token: InjectionToken<Dashboard>,
  guards: Guards,
  { path, actor }: ControllerOptions,
): Type<unknown> {
  @UseGuards(OwnPageGuard, ...guards, SameSiteGuard)
  @Controller({ path: `${path}/api/actions`, version: VERSION_NEUTRAL })
  class DashboardActionController {
    constructor(
      @Inject(token) readonly dashboard: Dashboard,
      @Inject(HttpAdapterHost) readonly host: HttpAdapterHost,
    ) {}

    @Post(':action/count')
    count(@Req() request: DashboardRequest, @Res() answer: Answer): Promise<void> {
      const action = named(request, 'action');
      if (!Object.hasOwn(bulkKinds, action)) return answerJson(this.host, answer, notFound);
      return this.#answer(request, answer, (actions, one) => actions.count(action as BulkAction, one));
    }

    @Post(':action')
    act(@Req() request: DashboardRequest, @Res() answer: Answer): Promise<void> {
      const action = named(request, 'action');
      if (!Object.hasOwn(performers, action)) return answerJson(this.host, answer, notFound);
      return this.#answer(request, answer, performers[action as DashboardAction]);
    }

    #answer(request: DashboardRequest, answer: Answer, perform: Perform): Promise<void> {
      const { actions } = this.dashboard;
      const name = nameOf(actor, request);
      let body: unknown;
      return answerJson(
        this.host,
        answer,
        () =>
          this.dashboard.explained(async () => {
            body = await readBody(request);
            return perform(actions, { actor: name, body });
          }),
        (error) => actions.valuesOf(error, named(request, 'action'), body),
      );
    }
  }
  return DashboardActionController;
}

function notFound(): never {
  throw new NotFoundException();
}

/** A part of the path; from the request, so that no pipe of the application changes it. */
function named({ params }: DashboardRequest, part: string): string {
  return params[part] ?? '';
}

type Perform = (actions: DashboardActions, request: ActionRequest) => Promise<object>;

const performers: Readonly<Record<DashboardAction, Perform>> = {
  retry: (actions, request) => actions.retry(request),
  'retry-edited': (actions, request) => actions.retryEdited(request),
  'retry-all': (actions, request) => actions.block('retry-all', request),
  'cancel-all': (actions, request) => actions.block('cancel-all', request),
  'delete-all': (actions, request) => actions.block('delete-all', request),
  cancel: (actions, request) => actions.cancel(request),
  bury: (actions, request) => actions.bury(request),
  'run-now': (actions, request) => actions.runNow(request),
  delete: (actions, request) => actions.delete(request),
  insert: (actions, request) => actions.insert(request),
  pause: (actions, request) => actions.pause(request),
  'run-schedule': (actions, request) => actions.runSchedule(request),
  'pause-schedule': (actions, request) => actions.pauseSchedule(request),
  'add-subscription': (actions, request) => actions.addSubscription(request),
  'remove-subscription': (actions, request) => actions.removeSubscription(request),
  'edit-subscription': (actions, request) => actions.editSubscription(request),
  'create-secret': (actions, request) => actions.createSecret(request),
  ping: (actions, request) => actions.ping(request),
};

/** Who acts; a function that fails must not let an action pass unnamed. */
function nameOf(actor: ControllerOptions['actor'], request: object): string | null {
  return actor?.(request as never) ?? null;
}
