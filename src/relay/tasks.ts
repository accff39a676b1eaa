import { GatewayError } from '../base/errors.ts';
import { type JsonObject, objectAt, stringAt } from '../base/json.ts';
import type { Sealer } from '../base/sealed.ts';
import type { TaskUpdates } from '../changes/updates.ts';
import { hasExtension, requiring, TASKS } from '../protocol/extensions.ts';
import type { Fleet } from '../upstream/fleet.ts';
import { type RequestContext, requiredString, seesUpstream } from './context.ts';
import { ownPartyOf } from './reverse.ts';

const PURPOSE = 'task';
/** 2025-11-25: basic/utilities/tasks, Related Task Metadata. */
const RELATED = 'io.modelcontextprotocol/related-task';
/** Most tasks that one stream may listen for. */
const MOST_LISTENED = 1_000;

/** A task as its upstream knows it. */
export interface TaskRoute {
  readonly upstream: string;
  readonly taskId: string;
  /** The replica whose child process has it; undefined where any of them reaches it. */
  readonly home?: string | undefined;
}

/** Tasks that children of other replicas have. */
export interface TasksElsewhere {
  /** The name of this replica. */
  readonly home: string;
  readonly isElsewhere: (home: string) => boolean;
  /** `heard` gets what {@link TaskUpdates} would say there, while that can be heard. Returns how to stop. */
  readonly watch: (
    home: string,
    task: { readonly id: string; readonly principal: string },
    heard: (task: JsonObject) => void,
  ) => () => void;
}

/** A task that a stream can listen for, under the id that the client has for it. */
export interface Listenable {
  readonly id: string;
  readonly start: (heard: (task: JsonObject) => void) => () => void;
}

/**
 * Ids of tasks (SEP-2663). An upstream's id is a bearer secret of its own making; what a client gets is that id sealed
 * together with its upstream and the principal, so that it routes by itself and is worth nothing to anybody else.
 */
export class Tasks {
  readonly #sealer: Sealer;
  readonly #updates: TaskUpdates;
  readonly #fleet: Pick<Fleet, 'reach' | 'capabilities' | 'settings'>;
  readonly #elsewhere: TasksElsewhere | undefined;

  /** `elsewhere`: those of other replicas, where there are any. */
  constructor(
    sealer: Sealer,
    updates: TaskUpdates,
    fleet: Pick<Fleet, 'reach' | 'capabilities' | 'settings'>,
    elsewhere?: TasksElsewhere | undefined,
  ) {
    this.#elsewhere = elsewhere;
    this.#sealer = sealer;
    this.#updates = updates;
    this.#fleet = fleet;
  }

  /** A result that may be a new task, in the form of either era, with the id that this client may use. */
  created(result: JsonObject, upstream: string, context: RequestContext): JsonObject {
    const modern = result['resultType'] === 'task' ? stringAt(result, 'taskId') : undefined;
    const taskId = modern ?? stringAt(result['task'], 'taskId');
    if (taskId === undefined) {
      return result;
    }
    const sealed = this.#sealer.seal(PURPOSE, {
      upstream,
      taskId,
      principal: context.principal.key,
      ...this.#homeAt(upstream),
    });
    return named(result, taskId, sealed);
  }

  /** An answer about a task, with the id that the client asked with. */
  answered(result: JsonObject, route: TaskRoute, id: unknown): JsonObject {
    return typeof id === 'string' ? named(result, route.taskId, id) : result;
  }

  /**
   * The route of `params.taskId`. Throws CAPABILITY_MISSING without the extension, PARAMS_INVALID for a foreign id and
   * for a task of a server that the principal sees nothing of any more.
   */
  route(params: JsonObject | undefined, context: RequestContext): TaskRoute {
    if (context.codec.era === 'modern') {
      this.#demandExtension(context);
    }
    const route = this.#open(requiredString(params, 'taskId'), context);
    if (route === undefined) {
      throw new GatewayError('PARAMS_INVALID', { detail: 'There is no such task.' });
    }
    return route;
  }

  /** Those of the wanted ids that are this client's. */
  listenable(wanted: unknown, context: RequestContext): readonly Listenable[] {
    if (!Array.isArray(wanted) || wanted.length === 0) {
      return [];
    }
    this.#demandExtension(context);
    return wanted.slice(0, MOST_LISTENED).flatMap((id: unknown) => {
      const route = typeof id === 'string' ? this.#open(id, context) : undefined;
      return route === undefined || typeof id !== 'string' ? [] : [this.#listen(id, route, context)];
    });
  }

  #listen(id: string, { upstream, taskId, home }: TaskRoute, context: RequestContext): Listenable {
    const party = ownPartyOf(context, this.#fleet, upstream);
    const principal = context.principal.key;
    return {
      id,
      start: (heard) => {
        const told = (task: JsonObject) => {
          const here = context.now();
          if (here !== undefined && seesUpstream(upstream, here)) {
            heard({ ...task, taskId: id });
          }
        };
        return home !== undefined && this.#elsewhere?.isElsewhere(home)
          ? this.#elsewhere.watch(home, { id, principal }, told)
          : this.#updates.subscribe({ upstream, taskId, party }, told);
      },
    };
  }

  /** Each replica has a child process of its own, and no other one knows its tasks. Own connections are found anyway. */
  #homeAt(upstream: string): { readonly home?: string } {
    const isChild = this.#fleet.settings(upstream).kind === 'stdio' && !this.#fleet.reach(upstream).own;
    return isChild && this.#elsewhere !== undefined ? { home: this.#elsewhere.home } : {};
  }

  #open(id: string, context: RequestContext): TaskRoute | undefined {
    const opened = openTask(this.#sealer, id);
    const isTheirs = opened?.principal === context.principal.key && seesUpstream(opened.upstream, context);
    return isTheirs ? opened : undefined;
  }

  #demandExtension(context: RequestContext): void {
    if (!hasExtension(context.client.capabilities, TASKS)) {
      throw new GatewayError('CAPABILITY_MISSING', { data: requiring(TASKS) });
    }
  }
}

/** What a client's id of a task stands for; undefined for what is none. Whose it is has to be compared. */
export function openTask(
  sealer: Sealer,
  id: string,
): (TaskRoute & { readonly principal: string }) | undefined {
  const opened = sealer.open(PURPOSE, id);
  const { upstream, taskId, principal } = opened ?? {};
  return typeof upstream === 'string' && typeof taskId === 'string' && typeof principal === 'string'
    ? { upstream, taskId, principal, home: stringAt(opened, 'home') }
    : undefined;
}

/** Where an id of a task stands: SEP-2663 at the top; 2025-11-25 at the top, in `task`, and in `_meta` of its result. */
function named(result: JsonObject, from: string, to: string): JsonObject {
  const rename = (holder: JsonObject | undefined) =>
    holder !== undefined && holder['taskId'] === from ? { ...holder, taskId: to } : holder;
  const task = objectAt(result, 'task');
  const meta = objectAt(result, '_meta');
  const related = objectAt(meta, RELATED);
  return {
    ...rename(result),
    ...(task === undefined ? {} : { task: rename(task) }),
    ...(related === undefined ? {} : { _meta: { ...meta, [RELATED]: rename(related) } }),
  };
}
