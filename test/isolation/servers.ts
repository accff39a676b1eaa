import type { JsonObject } from '../../src/base/json.ts';
import type { Script } from '../kit/upstream.ts';
import { type Owner, type Person, secret } from './secrets.ts';

export const TASKS = 'io.modelcontextprotocol/tasks';
/** What every server that has tasks calls its only one. */
export const TASK_ID = 'task-1';
const NOTES = 'com.example/notes';
const PAGES = 'com.example/pages';

const tool = (name: string, description: string, more: JsonObject = {}): JsonObject => ({
  name,
  description,
  inputSchema: { type: 'object' },
  ...more,
});
const forApps = { _meta: { ui: { visibility: ['app'] } } };
const text = (words: string) => [{ type: 'text', text: words }];
const page = (uri: string, words: string): JsonObject => ({ contents: [{ uri, text: words }] });
const said = (words: string): JsonObject => ({
  messages: [{ role: 'user', content: { type: 'text', text: words } }],
});
const task = (more: JsonObject): JsonObject => ({
  taskId: TASK_ID,
  createdAt: '2026-11-30T00:00:00Z',
  lastUpdatedAt: '2026-11-30T00:00:00Z',
  ttlMs: 60_000,
  ...more,
});

/** One of everything at a server that knows who asks: what `who` is answered, under names that others have as well. */
export function serverOf(id: string, who: Owner, era: 'modern' | 'legacy', more: Script = {}): Script {
  const hides = (place: string) => secret(who, `${id} ${place}`);
  const at = (path: string) => `${id}://${path}`;
  return {
    id,
    era,
    hints: { ttlMs: 60_000, cacheScope: 'private' },
    capabilities: { extensions: { [TASKS]: {} } },
    tools: [
      tool('note', hides('tool')),
      tool(`note_of_${who}`, hides('tool of their own')),
      tool(`page_of_${who}`, hides('tool for apps'), forApps),
      ...['echo', 'slow', 'count', 'progress', 'log', 'fail', 'break', 'ask', 'job'],
    ],
    prompts: [{ name: 'brief', description: hides('prompt') }],
    resources: [
      { uri: at('same'), name: hides('resource') },
      { uri: at('other'), name: 'other' },
      { uri: at(`of_${who}`), name: hides('resource of their own') },
    ],
    templates: [{ uriTemplate: at('page/{number}'), name: hides('template') }],
    readResults: {
      [at('same')]: page(at('same'), hides('read')),
      [at('page/1')]: page(at('page/1'), hides('page')),
      [at(`slip_of_${who}`)]: page(at(`slip_of_${who}`), hides('slip')),
    },
    promptResults: { brief: said(hides('prompt text')) },
    calls: {
      note: {
        does: 'raw',
        result: {
          content: [
            ...text(hides('call')),
            { type: 'resource_link', uri: at(`slip_of_${who}`), name: hides('link') },
          ],
        },
      },
      [`page_of_${who}`]: { does: 'raw', result: { content: text(hides('call of apps')) } },
      progress: { does: 'progress', steps: 3, message: hides('progress') },
      log: { does: 'log', data: hides('log') },
      fail: { does: 'fail', text: hides('failure') },
      break: { does: 'rpc-error', message: hides('error'), data: { why: hides('error data') } },
      ask: {
        does: 'ask',
        kind: 'elicitation',
        params: {
          mode: 'form',
          message: hides('question'),
          requestedSchema: { type: 'object', properties: {} },
        },
      },
      job: { does: 'raw', result: task({ resultType: 'task', status: 'working' }) },
    },
    methods: {
      'completion/complete': { completion: { values: [hides('completion')] } },
      'tasks/get': task({ status: 'completed', result: { content: text(hides('task')) } }),
      'tasks/update': {},
      'tasks/cancel': {},
    },
    ...more,
  };
}

/** One server for all, of which the groups see different parts. */
export function teamServer(): Script {
  const groups = ['red', 'blue'] as const;
  const of = <T>(make: (group: Owner, hides: (place: string) => string) => T): T[] =>
    groups.map((group) => make(group, (place) => secret(group, `team ${place}`)));
  return {
    id: 'team',
    era: 'modern',
    hints: { ttlMs: 60_000, cacheScope: 'public' },
    capabilities: { extensions: { [PAGES]: {} } },
    methods: { 'pages/get': { pages: [] }, 'pages/red': { pages: [secret('red', 'team pages')] } },
    tools: [
      tool('both', 'For all.'),
      ...of((group, hides) => tool(`${group}_tool`, hides('tool'))),
      ...of((group, hides) => tool(`${group}_page`, hides('tool for apps'), forApps)),
    ],
    prompts: of((group, hides) => ({ name: `${group}_brief`, description: hides('prompt') })),
    resources: of((group, hides) => ({ uri: `team://${group}`, name: hides('resource') })),
    templates: of((group, hides) => ({ uriTemplate: `team://${group}/{page}`, name: hides('template') })),
    readResults: Object.fromEntries(
      of((group, hides) => [`team://${group}`, page(`team://${group}`, hides('read'))]),
    ),
    promptResults: Object.fromEntries(of((group, hides) => [`${group}_brief`, said(hides('prompt text'))])),
    calls: Object.fromEntries(
      of((group, hides): [string, { does: 'raw'; result: JsonObject }][] => [
        [`${group}_tool`, { does: 'raw', result: { content: text(hides('call')) } }],
        [`${group}_page`, { does: 'raw', result: { content: text(hides('call of apps')) } }],
      ]).flat(),
    ),
  };
}

/** A server of which only one group may know that it is there. */
export function hiddenServer(id: string, group: 'red' | 'blue', era: 'modern' | 'legacy'): Script {
  const hides = (place: string) => secret(group, `${id} ${place}`);
  return {
    id,
    era,
    instructions: hides('instructions'),
    capabilities: {
      experimental: { [`com.example/${group}`]: { about: hides('experimental') } },
      extensions: { [NOTES]: { about: hides('extension') } },
    },
    tools: [tool('look', hides('tool'))],
    ...(group === 'red' ? { prompts: ['brief'] } : {}),
    methods: { 'notes/list': { notes: [hides('extension result')] } },
  };
}

/** A server that everybody reaches with one identity, and that still calls its answers private. */
export function diaryServer(owner: Person): Script {
  const hides = (place: string) => secret(owner, `diary ${place}`);
  return {
    id: 'diary',
    era: 'modern',
    hints: { ttlMs: 60_000, cacheScope: 'private' },
    tools: [tool('write', hides('tool'))],
    prompts: [{ name: 'brief', description: hides('prompt') }],
    resources: [{ uri: 'diary://today', name: hides('resource') }],
    templates: [{ uriTemplate: 'diary://day/{number}', name: hides('template') }],
    readResults: {
      'diary://today': page('diary://today', hides('read')),
      'diary://slip': page('diary://slip', hides('slip')),
    },
    calls: {
      write: {
        does: 'raw',
        result: { content: [{ type: 'resource_link', uri: 'diary://slip', name: hides('link') }] },
      },
    },
  };
}
