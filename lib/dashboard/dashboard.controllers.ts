import {
  Body,
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
import type { DashboardAction } from './api.js';
import type { ActionRequest, DashboardActions } from './dashboard-actions.js';
import type { Dashboard } from './dashboard.js';
import { readPage } from './page-files.js';
import type { Query as Parameters } from './read-filter.js';
import { answered } from './refusal.js';
import { SameSiteGuard } from './same-site.guard.js';

/** What the controllers of one dashboard are made from. */
export interface ControllerParts {
  /** Token of the {@link Dashboard}. */
  readonly token: InjectionToken<Dashboard>;
  readonly path: string;
  readonly guards: readonly (Type<CanActivate> | CanActivate)[];
  readonly actor: ((request: never) => string | undefined) | undefined;
}

/** Nothing of it may be kept by a browser or a proxy, framed, or guessed at. */
const safely = (): MethodDecorator => (target, key, descriptor) => {
  for (const [name, value] of [
    ['Cache-Control', 'no-store'],
    ['X-Content-Type-Options', 'nosniff'],
    ['Referrer-Policy', 'no-referrer'],
    ['X-Frame-Options', 'DENY'],
  ] as const) {
    Header(name, value)(target, key, descriptor);
  }
};

/** For `@nestjs/swagger`: it is no part of the application's interface. */
const undocumented = SetMetadata('swagger/apiExcludeController', [true]);

/**
 * Controllers of one dashboard: Nest takes paths and guards from a class, so each dashboard has classes of its own. They use
 * nothing of Express or Fastify.
 */
export async function makeControllers(parts: ControllerParts): Promise<readonly Type<unknown>[]> {
  return [await makePageController(parts), makeReadController(parts), makeActionController(parts)];
}

async function makePageController({ path, guards }: ControllerParts): Promise<Type<unknown>> {
  const { document, policy, assets } = await readPage();

  @undocumented
  @UseGuards(...guards)
  @Controller({ path, version: VERSION_NEUTRAL })
  class DashboardPageController {
    @Get()
    @safely()
    @Header('Content-Type', 'text/html; charset=utf-8')
    @Header('Content-Security-Policy', policy)
    page(): string {
      return document;
    }

    @Get('assets/:file')
    @safely()
    asset(@Param('file') file: string): StreamableFile {
      return this.#asset(file);
    }

    @Get('assets/:folder/:file')
    @safely()
    nested(@Param('folder') folder: string, @Param('file') file: string): StreamableFile {
      return this.#asset(`${folder}/${file}`);
    }

    #asset(name: string): StreamableFile {
      const asset = assets.get(name);
      if (!asset) throw new NotFoundException();
      return new StreamableFile(asset.content, { type: asset.type, length: asset.content.length });
    }
  }
  return DashboardPageController;
}

function makeReadController({ token, path, guards, actor }: ControllerParts): Type<unknown> {
  @undocumented
  @UseGuards(...guards)
  @Controller({ path: `${path}/api`, version: VERSION_NEUTRAL })
  class DashboardReadController implements OnModuleDestroy {
    constructor(@Inject(token) readonly dashboard: Dashboard) {}

    /** A server that closes waits for its streams. */
    onModuleDestroy(): void {
      this.dashboard.live.close();
    }

    @Get('info')
    @safely()
    info(): object {
      return this.dashboard.info();
    }

    @Get('overview')
    @safely()
    overview(): Promise<object> {
      return answered(() => this.dashboard.overview.read());
    }

    @Sse('stream')
    stream(): Observable<object> {
      return this.dashboard.live.watch();
    }

    @Get('history')
    @safely()
    history(@Query() query: object): Promise<object> {
      return answered(() => this.dashboard.history(query as Parameters));
    }

    @Get('tasks')
    @safely()
    tasks(@Query() query: object): Promise<object> {
      return answered(() => this.dashboard.tasks.list(query as Parameters));
    }

    @Get('tasks/:id')
    @safely()
    task(@Param('id') id: string): Promise<object> {
      return answered(() => this.dashboard.tasks.find(id));
    }

    @Get('tasks/:id/payload')
    @safely()
    payload(@Param('id') id: string, @Req() request: object): Promise<object> {
      return answered(() => this.dashboard.payload(id, nameOf(actor, request)));
    }

    @Get('subscriptions')
    @safely()
    subscriptions(): Promise<object> {
      return answered(() => this.dashboard.subscriptions.list());
    }

    @Get('subscriptions/:id')
    @safely()
    subscription(@Param('id') id: string): Promise<object> {
      return answered(() => this.dashboard.subscriptions.find(id));
    }
  }
  return DashboardReadController;
}

function makeActionController({ token, path, guards, actor }: ControllerParts): Type<unknown> {
  const asked = (request: object, body: unknown): ActionRequest => ({ actor: nameOf(actor, request), body });

  @undocumented
  @UseGuards(...guards, SameSiteGuard)
  @Controller({ path: `${path}/api/actions`, version: VERSION_NEUTRAL })
  class DashboardActionController {
    constructor(@Inject(token) readonly dashboard: Dashboard) {}

    @Post('retry-all/count')
    @HttpCode(200)
    @safely()
    countFailed(@Req() request: object, @Body() body: object): Promise<object> {
      return answered(() => this.dashboard.actions.countFailed(asked(request, body)));
    }

    @Post(':action')
    @HttpCode(200)
    @safely()
    act(@Param('action') action: string, @Req() request: object, @Body() body: object): Promise<object> {
      const perform = Object.hasOwn(performers, action) ? performers[action as DashboardAction] : undefined;
      if (!perform) throw new NotFoundException();
      return answered(() => perform(this.dashboard.actions, asked(request, body)));
    }
  }
  return DashboardActionController;
}

type Perform = (actions: DashboardActions, request: ActionRequest) => Promise<object>;

const performers: Readonly<Record<DashboardAction, Perform>> = {
  retry: (actions, request) => actions.retry(request),
  'retry-all': (actions, request) => actions.retryBlock(request),
  cancel: (actions, request) => actions.cancel(request),
  bury: (actions, request) => actions.bury(request),
  'run-now': (actions, request) => actions.runNow(request),
  pause: (actions, request) => actions.pause(request),
  'edit-subscription': (actions, request) => actions.editSubscription(request),
  ping: (actions, request) => actions.ping(request),
};

/** Who acts; a function that fails must not let anybody act unnamed. */
function nameOf(actor: ControllerParts['actor'], request: object): string | null {
  return actor?.(request as never) ?? null;
}
