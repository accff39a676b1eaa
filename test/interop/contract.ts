import { expect, it } from 'vitest';
import { type JsonObject, objectAt, stringAt } from '../../src/base/json.ts';
import type { Caller } from './caller.ts';
import type { ServerRow } from './peers.ts';

const NOTE = 'Grüße, 世界 🌍';
const CHANGED = 'notifications/tools/list_changed';
const UPDATED = 'notifications/resources/updated';
const LOGGED = 'notifications/message';

/** Tools of the common server, all but `touch`, which only some have. */
const TOOLS = [
  'ask_model',
  'ask_roots',
  'ask_user',
  'chat',
  'count',
  'fail',
  'greet',
  'grow',
  'hang',
  'hangs',
];

const QUESTIONS = [
  { tool: 'ask_user', method: 'elicitation/create', answer: 'Ada' },
  { tool: 'ask_model', method: 'sampling/createMessage', answer: 'Hello from the model' },
  { tool: 'ask_roots', method: 'roots/list', answer: 'file:///srv/interop' },
];

const structured = (result: JsonObject) => objectAt(result, 'structuredContent');
const firstOf = (list: unknown): JsonObject => (Array.isArray(list) ? (list[0] as JsonObject) : {});

/**
 * What one client must be able to do with one server that runs the common server behind the gateway.
 * `caller` gives the client, once it is connected; `who` is safe in a tool's name.
 */
export function proveContract(caller: () => Caller, row: ServerRow, who: string): void {
  const name = (item: string) => `${row.id}.${item}`;
  const uri = (rest: string) => `${row.uris}${rest}`;
  const call = async (tool: string, args?: JsonObject) => (await caller().call(name(tool), args)).result;

  it('finds everything the server has', async () => {
    const own = async (kind: 'tools' | 'prompts') =>
      (await caller().items(kind))
        .map((item) => String(item['name']))
        .filter((item) => item.startsWith(name('')));
    expect(await own('tools')).toEqual(expect.arrayContaining(TOOLS.map(name)));
    expect(await own('prompts')).toEqual([name('welcome')]);
    const uris = (await caller().items('resources')).map((item) => item['uri']);
    expect(uris).toEqual(expect.arrayContaining([uri('static'), uri('dot')]));
    const templates = (await caller().items('templates')).map((item) => item['uriTemplate']);
    expect(templates).toContain(uri('by/{name}'));
  });

  it('gets a structured result', async () => {
    const result = await call('greet', { name: 'Ädä 🌍 世界', times: 2 });
    expect(structured(result)).toEqual({ greeting: 'Hello, Ädä 🌍 世界!', times: 2 });
    expect(result['isError'] ?? false).toBe(false);
  });

  it('is told of the failure of a tool', async () => {
    const result = await call('fail', { reason: 'no coffee ☕' });
    expect(result['isError']).toBe(true);
    expect(stringAt(firstOf(result['content']), 'text')).toContain('no coffee ☕');
  });

  it('hears of progress in order', async () => {
    const { result, progress } = await caller().call(name('count'), { to: 3 });
    expect(structured(result)).toEqual({ counted: 3 });
    // What follows at once is thinned out; the last always comes.
    await expect.poll(() => progress().at(-1)).toMatchObject({ progress: 3, total: 3, message: '3 of 3' });
    expect(progress()[0]).toMatchObject({ progress: 1, total: 3, message: '1 of 3' });
    const steps = progress().map((each) => Number(each['progress']));
    expect(steps).toEqual(steps.toSorted());
  });

  it('reads text, bytes and a resource of a template', async () => {
    const contents = async (rest: string) => firstOf((await caller().read(uri(rest)))['contents']);
    expect(await contents('static')).toMatchObject({ uri: uri('static'), text: NOTE });
    expect(await contents('dot')).toMatchObject({ blob: Buffer.from([0, 1, 254, 255]).toString('base64') });
    expect(await contents('by/Ada')).toMatchObject({ uri: uri('by/Ada'), text: 'Signed: Ada' });
  });

  it('gets a prompt', async () => {
    const { messages } = await caller().prompt(name('welcome'), { name: 'Zoë' });
    expect(firstOf(messages)).toMatchObject({
      role: 'user',
      content: { type: 'text', text: 'Welcome, Zoë!' },
    });
  });

  it('completes arguments of a prompt and of a template', async () => {
    const offered = async (ref: Parameters<Caller['complete']>[0]) =>
      objectAt(await caller().complete(ref, 'name', 'Ad'), 'completion')?.['values'];
    expect(await offered({ name: name('welcome') })).toEqual(['Ada (prompt)', 'Adèle (prompt)']);
    expect(await offered({ uri: uri('by/{name}') })).toEqual(['Ada (template)', 'Adèle (template)']);
  });

  /** How often it was asked; an SDK may answer without telling its program. */
  const asked = (method: string) => caller().heard.count(method);
  const tells = (method: string) => !caller().answersItself.includes(method);

  if (row.asks) {
    it.each(QUESTIONS)('answers a question: $method', async ({ tool, method, answer }) => {
      const before = asked(method);
      expect(structured(await call(tool))).toEqual({ answer });
      expect(asked(method)).toBe(before + (tells(method) ? 1 : 0));
    });
  } else {
    it.each(QUESTIONS)(
      'is not asked over a connection that others share: $method',
      async ({ tool, method }) => {
        const before = asked(method);
        // Servers say in either way that they have nobody to ask.
        const outcome = await call(tool).catch((error: Error) => ({ isError: true, error }));
        expect(outcome).toMatchObject({ isError: true });
        expect(asked(method)).toBe(before);
      },
    );
  }

  it('hears what the server logs during a call', async () => {
    const text = `the tea is ready, ${who}`;
    await call('chat', { text });
    const { heard } = caller();
    const found = () =>
      heard.all.find((line) => line['method'] === LOGGED && JSON.stringify(line['params']).includes(text));
    await expect(heard.until(found, 'the log')).resolves.toMatchObject({ params: { level: 'warning' } });
  });

  if (row.tellsOfTools) {
    it('hears of a new tool, and calls it', async () => {
      const { heard } = caller();
      const before = heard.count(CHANGED);
      // One process may stand behind several rows.
      const tool = `new_for_${who}_${row.id}`;
      await call('grow', { name: tool });
      await heard.until(() => heard.count(CHANGED) > before || undefined, 'a notice of change');
      const names = async () => (await caller().items('tools')).map((item) => item['name']);
      await expect.poll(names).toContain(name(tool));
      expect(structured(await call(tool))).toEqual({ answer: tool });
    });
  }

  if (row.takesSubscriptions) {
    it('hears of a changed resource', async () => {
      const { heard } = caller();
      const updates = () =>
        heard.all.filter(
          (line) => line['method'] === UPDATED && objectAt(line, 'params')?.['uri'] === uri('static'),
        );
      const before = updates().length;
      await call('touch');
      await heard.until(() => updates().length > before || undefined, 'a notice of the update');
    });
  }
}

/**
 * That a call is stopped at the server when the client gives it up. Apart from the rest: after that the logs of a modern
 * server over stdio have no certain owner any more, and are passed on to nobody.
 */
export function proveCancellation(caller: () => Caller, row: ServerRow): void {
  const tool = (item: string) => `${row.id}.${item}`;

  it(`stops a call of ${row.id} that is given up`, async () => {
    const stopped = async () =>
      Number(structured((await caller().call(tool('hangs'))).result)?.['cancelled']);
    const before = await stopped();
    const giveUp = await caller().hang(tool('hang'));
    await giveUp();
    await expect.poll(stopped).toBe(before + 1);
  });
}
