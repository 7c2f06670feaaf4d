import {
  Controller,
  Get,
  Header,
  HttpCode,
  Inject,
  NotFoundException,
  Param,
  Post,
  Query,
  Req,
  Res,
  SetMetadata,
  Sse,
  StreamableFile,
  UseGuards,
  VERSION_NEUTRAL,
  type CanActivate,
  type InjectionToken,
  type OnModuleDestroy,
  type Type,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { BulkAction } from './api.js';
import type { DashboardAction } from '../options/dashboard-options.js';
import { bulkKinds, type ActionRequest, type DashboardActions } from './dashboard-actions.js';
import type { Dashboard } from './dashboard.js';
import { OwnPageGuard } from './own-page.guard.js';
import { readPage, versionPrefix } from './page-files.js';
import type { Query as Parameters } from './read-filter.js';
import { answered } from './refusal.js';
import { readBody } from './request-body.js';
import { headerOf, type Answer, type DashboardRequest } from './request.js';
import { SameSiteGuard } from './same-site.guard.js';

/** What the controllers of one dashboard are made from. */
export interface ControllerParts {
  /** Token of the {@link Dashboard}. */
  readonly token: InjectionToken<Dashboard>;
  readonly path: string;
  readonly guards: readonly (Type<CanActivate> | CanActivate)[];
  readonly actor: ((request: never) => string | undefined) | undefined;
}

/** Classes of controllers: of the page's files, of what it reads and of what it does. */
export type Controllers = Readonly<Record<'page' | 'read' | 'action', Type<unknown>>>;

/** For `@nestjs/swagger`: it is not part of the application's interface. */
const undocumented = SetMetadata('swagger/apiExcludeController', [true]);

/**
 * Controllers of one dashboard: Nest takes paths and guards from a class, so each dashboard has classes of its own. They use
 * nothing of Express or Fastify.
 */
export async function makeControllers(parts: ControllerParts): Promise<Controllers> {
  return {
    page: await makePageController(parts),
    read: makeReadController(parts),
    action: makeActionController(parts),
  };
}

async function makePageController({ path, guards }: ControllerParts): Promise<Type<unknown>> {
  const { document, policy, version, assets } = await readPage();

  @undocumented
  @UseGuards(OwnPageGuard, ...guards)
  @Controller({ path, version: VERSION_NEUTRAL })
  class DashboardPageController {
    @Get()
    @Header('Content-Type', 'text/html; charset=utf-8')
    @Header('Content-Security-Policy', policy)
    page(): string {
      return document;
    }

    @Get('assets/:first')
    one(@Param() names: object, @Req() request: object, @Res({ passthrough: true }) answer: Answer) {
      return this.#asset(names, request, answer);
    }

    @Get('assets/:first/:second')
    two(@Param() names: object, @Req() request: object, @Res({ passthrough: true }) answer: Answer) {
      return this.#asset(names, request, answer);
    }

    @Get('assets/:first/:second/:third')
    three(@Param() names: object, @Req() request: object, @Res({ passthrough: true }) answer: Answer) {
      return this.#asset(names, request, answer);
    }

    async #asset(names: object, request: object, answer: Answer): Promise<StreamableFile> {
      const parts: readonly string[] = Object.values(names);
      // Another version is that of a page which another process has served, before or after this one: it gets what there is.
      const isVersioned = parts[0]?.startsWith(versionPrefix) === true;
      const asset = assets.get((isVersioned ? parts.slice(1) : parts).join('/'));
      if (!asset) throw new NotFoundException();
      const accepted = headerOf(request as DashboardRequest, 'accept-encoding') ?? '';
      const { type, content, encoding } = await asset.send(accepted);
      const vary = answer.getHeader('Vary');
      // Who allows other origins varies by them, too.
      answer.header('Vary', typeof vary === 'string' ? `${vary}, Accept-Encoding` : 'Accept-Encoding');
      if (encoding !== undefined) answer.header('Content-Encoding', encoding);
      if (parts[0] === version) answer.header('Cache-Control', 'private, max-age=31536000, immutable');
      return new StreamableFile(content, { type, length: content.length });
    }
  }
  return DashboardPageController;
}

function makeReadController({ token, path, guards, actor }: ControllerParts): Type<unknown> {
  @undocumented
  @UseGuards(OwnPageGuard, ...guards)
  @Controller({ path: `${path}/api`, version: VERSION_NEUTRAL })
  class DashboardReadController implements OnModuleDestroy {
    constructor(@Inject(token) readonly dashboard: Dashboard) {}

    /** A server that closes waits for its streams. */
    onModuleDestroy(): void {
      this.dashboard.live.close();
    }

    @Get('info')
    info(): object {
      return this.dashboard.info();
    }

    @Get('overview')
    overview(): Promise<object> {
      return answered(() => this.dashboard.overview.read());
    }

    @Sse('stream')
    stream(): Observable<object> {
      return this.dashboard.live.watch();
    }

    @Get('history')
    history(@Query() query: object): Promise<object> {
      return answered(() => this.dashboard.history(query as Parameters));
    }

    @Get('counts')
    counts(): Promise<object> {
      return answered(() => this.dashboard.overview.allCounts());
    }

    @Get('tasks')
    tasks(@Query() query: object, @Req() request: object): Promise<object> {
      return answered(() => this.dashboard.list(query as Parameters, nameOf(actor, request)));
    }

    @Get('tasks/:id')
    task(@Param('id') id: string): Promise<object> {
      return answered(() => this.dashboard.tasks.find(id), { id });
    }

    @Get('tasks/:id/payload')
    payload(@Param('id') id: string, @Req() request: object): Promise<object> {
      return answered(() => this.dashboard.payload(id, nameOf(actor, request)), { id });
    }

    @Get('subscriptions')
    subscriptions(): Promise<object> {
      return answered(() => this.dashboard.subscriptions.list());
    }

    @Get('subscriptions/:id')
    subscription(@Param('id') id: string): Promise<object> {
      return answered(() => this.dashboard.subscriptions.find(id), { id });
    }
  }
  return DashboardReadController;
}

function makeActionController({ token, path, guards, actor }: ControllerParts): Type<unknown> {
  const asked = (
    { actions }: Dashboard,
    action: string,
    request: object,
    work: (request: ActionRequest) => Promise<object>,
  ): Promise<object> => {
    const name = nameOf(actor, request);
    let body: unknown;
    return answered(
      async () => {
        body = await readBody(request as DashboardRequest);
        return work({ actor: name, body });
      },
      (error) => actions.valuesOf(error, action, body),
    );
  };

  @undocumented
  @UseGuards(OwnPageGuard, ...guards, SameSiteGuard)
  @Controller({ path: `${path}/api/actions`, version: VERSION_NEUTRAL })
  class DashboardActionController {
    constructor(@Inject(token) readonly dashboard: Dashboard) {}

    @Post(':action/count')
    @HttpCode(200)
    count(@Param('action') action: string, @Req() request: object): Promise<object> {
      if (!Object.hasOwn(bulkKinds, action)) throw new NotFoundException();
      const { actions } = this.dashboard;
      return asked(this.dashboard, action, request, (one) => actions.count(action as BulkAction, one));
    }

    @Post(':action')
    @HttpCode(200)
    act(@Param('action') action: string, @Req() request: object): Promise<object> {
      const perform = Object.hasOwn(performers, action) ? performers[action as DashboardAction] : undefined;
      if (!perform) throw new NotFoundException();
      return asked(this.dashboard, action, request, (one) => perform(this.dashboard.actions, one));
    }
  }
  return DashboardActionController;
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
  'add-subscription': (actions, request) => actions.addSubscription(request),
  'remove-subscription': (actions, request) => actions.removeSubscription(request),
  'edit-subscription': (actions, request) => actions.editSubscription(request),
  ping: (actions, request) => actions.ping(request),
};

/** Who acts; a function that fails must not let an action pass unnamed. */
function nameOf(actor: ControllerParts['actor'], request: object): string | null {
  return actor?.(request as never) ?? null;
}
