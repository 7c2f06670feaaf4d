import type { PoolKind } from '../../options/isolation-options.js';
import type { ChildPool } from './child-pool.js';
import type { DetachedChildren } from './detached-children.js';

/** Where isolated handlers of each kind run. */
export type ChildPools = Readonly<Record<PoolKind, ChildPool>> & { readonly detached: DetachedChildren };
