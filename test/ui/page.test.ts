import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLOSED } from '../fixtures/upstreams/scripted-peer.ts';
import { startGatewayProcess } from '../kit/gateway-process.ts';
import { startHttpUpstream } from '../kit/http-upstream.ts';
import { connectModern } from '../kit/modern-agent.ts';
import { expectAccessible, HAS_BROWSER, openBrowser, openPage, shoot } from './browser.ts';
import { ATTACK, KEY, openWorld, USER_KEY, type World } from './world.ts';

/** The operator page in a real browser, in front of the program as it is shipped. Without chromium there is nothing to try. */
describe.skipIf(!HAS_BROWSER)('the operator page', () => {
  const scope = new AsyncDisposableStack();
  let browser: Browser;
  let world: World;
  let address: string;

  beforeAll(async () => {
    [browser, world] = await Promise.all([openBrowser(), openWorld()]);
    scope.defer(() => browser.close());
    scope.use(world);
    address = world.gateway.url.replace('/mcp', '/ui/');
  });
  afterAll(() => scope.disposeAsync());

  const signedIn = async (hash = '') => {
    const opened = await openPage(browser, `${address}${hash}`);
    await signIn(opened.page, KEY);
    await opened.page.getByRole('navigation').waitFor();
    return opened;
  };

  it('asks for a key, keeps it where it is told to, and lets nobody but operators in', async () => {
    await using opened = await openPage(browser, address);
    const { page, faults } = opened;
    await page.getByRole('heading', { name: 'Patchbay' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await expectAccessible(page, 'sign-in');

    await signIn(page, 'pbk_no-such-key');
    await page.getByRole('alert').waitFor();
    await signIn(page, USER_KEY);
    await page.getByText('operators').and(page.getByRole('alert')).waitFor();
    await signIn(page, KEY);
    await page.getByRole('rowheader', { name: 'tickets' }).waitFor();
    await page.reload();
    await page.getByLabel('Key or token').waitFor();

    await page.getByLabel('Keep it until this tab is closed').check();
    await signIn(page, KEY);
    await page.getByRole('rowheader', { name: 'tickets' }).waitFor();
    await page.reload();
    await page.getByRole('rowheader', { name: 'tickets' }).waitFor();
    expect(page.url()).not.toContain(KEY);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Key or token').waitFor();
    expect(await page.evaluate('sessionStorage.length + localStorage.length + document.cookie.length')).toBe(
      0,
    );
    expect(faults).toEqual([]);
  });

  it('shows how every upstream stands', async () => {
    await using opened = await signedIn();
    const { page, faults } = opened;
    const row = (name: string) =>
      page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });
    await expect.poll(() => row('tickets').first().textContent()).toMatch(/ready.*modern.*http/s);
    await expect.poll(() => row('down').first().textContent()).toMatch(/(backoff|broken|connecting)/);
    await expect.poll(() => row('down').first().textContent()).toContain('UPSTREAM');
    await expectAccessible(page, 'upstreams');
    await page.getByRole('button', { name: 'tickets' }).click();
    await expect.poll(() => options(page)).toContain('tickets.create');
    expect(await options(page)).not.toContain('hostile.charm');
    expect(faults).toEqual([]);
  });

  it('finds, filters and explains items, as anybody at any endpoint', async () => {
    await using opened = await signedIn('#catalog');
    const { page, faults } = opened;
    await expect
      .poll(() => options(page))
      .toEqual(expect.arrayContaining(['tickets.create', 'hostile.charm']));
    await page.getByLabel('Search the catalog').fill('tracker team');
    await expect.poll(() => options(page)).toEqual(['tickets.create']);
    await page.getByRole('listbox').getByRole('option').first().click();
    const detail = page.getByRole('region', { name: 'Item' });
    await detail.getByText('tickets__create').waitFor();
    await detail.getByText(/rule 2 .*allows/).waitFor();
    await detail.getByText('Input schema').click();
    await detail.getByRole('region', { name: 'Input schema' }).getByText('"Full name"').waitFor();
    await expectAccessible(page, 'catalog');

    await page.getByLabel('Search the catalog').fill('');
    await page.getByLabel('Show as principal').fill('bob');
    await expect.poll(() => options(page)).toEqual(['tickets.create']);
    await page.getByLabel('Show as principal').fill('');
    await page.getByLabel('At endpoint').selectOption('slim');
    await page.getByLabel('Naming style').selectOption('strict');
    await expect
      .poll(() => options(page))
      .toEqual(expect.arrayContaining(['tickets__create', 'tickets__ask']));
    expect(await options(page)).not.toContain('tickets__slow');
    expect(faults).toEqual([]);
  });

  it('calls a tool from the form of its schema', async () => {
    await using opened = await signedIn('#catalog');
    const { page, faults } = opened;
    const detail = await choose(page, 'tickets.create');
    await detail.getByRole('button', { name: 'Call', exact: true }).click();
    await detail.getByText('One argument is not right.').waitFor();
    await detail.getByLabel('title').fill('Broken\ndoor');
    await detail.getByLabel('count').fill('2.5');
    await detail.getByRole('button', { name: 'Call', exact: true }).click();
    await detail.getByText('is no whole number').waitFor();
    await detail.getByLabel('count').fill('2');
    await detail.getByLabel('priority').selectOption('high');
    await detail.getByLabel('urgent').selectOption('false');
    await detail.getByLabel('Full name').fill('Ann');
    await detail.getByRole('button', { name: 'Add one' }).click();
    await detail.getByLabel('1', { exact: true }).fill('door');
    await detail.getByLabel('extra').fill('"free"');
    await expectAccessible(page, 'form');
    await detail.getByLabel('count').press('Control+Enter');
    const call = await world.tickets.untilReceived('tools/call');
    const args = {
      title: 'Broken\ndoor',
      count: 2,
      priority: 'high',
      urgent: false,
      owner: { name: 'Ann' },
      labels: ['door'],
      extra: 'free',
    };
    expect(call.params).toMatchObject({ name: 'create', arguments: args });
    await detail.getByText('done', { exact: true }).waitFor();
    expect(
      JSON.parse((await detail.getByRole('region', { name: 'Text of the result' }).textContent()) ?? ''),
    ).toEqual(args);

    await detail.getByRole('button', { name: 'Arguments as JSON' }).click();
    expect(JSON.parse(await detail.getByLabel('Arguments as JSON').inputValue())).toEqual(args);
    await shoot(page, 'result');
    expect(faults).toEqual([]);
  });

  it('shows progress, cancels, and answers what a server asks', async () => {
    await using opened = await signedIn('#catalog');
    const { page, faults } = opened;
    const progress = await choose(page, 'tickets.progress');
    await progress.getByRole('button', { name: 'Call', exact: true }).click();
    await progress.getByText('3 of 3 halfway there').waitFor();

    const slow = await choose(page, 'tickets.slow');
    await slow.getByRole('button', { name: 'Call', exact: true }).click();
    const mark = world.tickets.mark();
    await world.tickets.untilReceived('tools/call', ({ params }) => params?.['name'] === 'slow');
    await slow.getByRole('button', { name: 'Cancel' }).click();
    await slow.getByText('cancelled').waitFor();
    await world.tickets.untilReceived(CLOSED, undefined, { after: mark });

    const ask = await choose(page, 'tickets.ask');
    await ask.getByRole('button', { name: 'Call', exact: true }).click();
    await ask.getByText('What is your name?', { exact: true }).waitFor();
    await ask.getByLabel('name').fill('Ann');
    await expectAccessible(page, 'question');
    await ask.getByRole('button', { name: 'Accept' }).click();
    await ask.getByText('done', { exact: true }).waitFor();
    expect(await ask.getByRole('region', { name: 'Text of the result' }).textContent()).toContain('"Ann"');
    expect(faults).toEqual([]);
  });

  it('tells of calls and changes as they come', async () => {
    await using opened = await signedIn('#live');
    const { page, faults } = opened;
    await page.getByText('listening').waitFor();
    await using agent = await connectModern(world.gateway.url, {
      headers: { authorization: `Bearer ${USER_KEY}` },
    });
    await agent.begin('tools/call', {
      name: 'tickets.create',
      arguments: { title: 'private words', count: 1 },
    }).done;
    const call = page.getByRole('row').filter({ hasText: 'tickets.create' });
    await call.first().waitFor();
    expect(await call.first().textContent()).toMatch(/tickets\.create.*ok.*bob.*modern-agent/s);
    await world.tickets.addTool('brand_new');
    await world.tickets.notify('tools');
    await page.getByText('tools of tickets').waitFor();
    expect(await page.content()).not.toContain('private words');
    await expectAccessible(page, 'live');
    await page.getByRole('link', { name: 'Catalog' }).click();
    await expect.poll(() => options(page)).toContain('tickets.brand_new');
    expect(faults).toEqual([]);
  });

  it('makes nothing of the texts of a hostile server but text', async () => {
    await using opened = await signedIn('#catalog');
    const { page, faults } = opened;
    await page.getByLabel('Upstream').selectOption('hostile');
    await expect.poll(() => page.getByRole('listbox').getByRole('option').count()).toBeGreaterThanOrEqual(4);
    const detail = page.getByRole('region', { name: 'Item' });
    const count = await page.getByRole('listbox').getByRole('option').count();
    for (let at = 0; at < count; at += 1) {
      await page.getByRole('listbox').getByRole('option').nth(at).click();
      await detail.getByText('Whole definition').click();
    }
    const charm = await choose(page, 'hostile.charm');
    await charm.getByText('Whole definition').click();
    await charm.getByText('U+202E').first().waitFor();
    await charm.getByText('U+200B').first().waitFor();
    await charm.getByRole('button', { name: 'Call', exact: true }).click();
    await charm.getByRole('region', { name: 'Text of the result' }).first().waitFor();
    expect(await charm.getByRole('region', { name: 'Text of the result' }).first().textContent()).toContain(
      ATTACK,
    );
    expect(await page.evaluate('window.owned')).toBeUndefined();
    expect(
      await page.locator('#owned, article script, article a, article svg, article [onerror]').count(),
    ).toBe(0);
    await expectAccessible(page, 'hostile');
    await page.getByRole('link', { name: 'Upstreams' }).click();
    await page.getByRole('heading', { name: 'Findings' }).waitFor();
    expect(await page.locator('#owned').count()).toBe(0);
    // No sign that turns the direction is in the document itself.
    expect(
      await page.evaluate('/[\\u202a-\\u202e\\u2066-\\u2069\\u200b]/.test(document.body.innerText)'),
    ).toBe(false);
    expect(faults).toEqual([]);
  });

  it('needs no key at the same machine, and 2,000 tools and a keyboard are no trouble', async () => {
    const tools = Array.from({ length: 2_000 }, (_, at) => ({
      name: `tool_${at}`,
      description: `Number ${at} of many`,
      inputSchema: { type: 'object', properties: { text: { type: 'string', maxLength: 20 } } },
    }));
    await using many = await startHttpUpstream({ id: 'many', tools });
    await using gateway = await startGatewayProcess({ upstreams: { many: many.config } });
    await using opened = await openPage(browser, gateway.url.replace('/mcp', '/ui'));
    const { page, faults } = opened;
    await page.getByRole('rowheader', { name: 'many' }).waitFor();

    const press = async (...keys: string[]) => {
      for (const key of keys) {
        await page.keyboard.press(key);
      }
    };
    const tabTo = async (name: string) => {
      for (let tries = 0; tries < 30 && (await focused(page)) !== name; tries += 1) {
        await page.keyboard.press('Tab');
      }
      expect(await focused(page)).toBe(name);
    };
    await tabTo('Catalog');
    await press('Enter');
    await page.getByText('2,000 items').waitFor();
    expect(await page.getByRole('listbox').getByRole('option').count()).toBeLessThan(60);
    await tabTo('Search the catalog');
    await page.keyboard.type('number 1999');
    await page.getByText('1 of 2,000 items').waitFor();
    for (let n = 0; n < 11; n += 1) {
      await press('Backspace');
    }
    await page.getByText('2,000 items').waitFor();
    // Two lists are called so: the links of the pages, and the list of items.
    await tabTo('Show as principal');
    await tabTo('Catalog');
    await press('End', 'ArrowUp', 'PageUp', 'End');
    await page.getByRole('heading', { name: 'many.tool_1999' }).waitFor();
    expect(
      await page.getByRole('listbox').getByRole('option', { selected: true }).getAttribute('aria-posinset'),
    ).toBe('2000');
    await expectAccessible(page, 'many');
    await tabTo('text');
    await page.keyboard.type('typed');
    await press('Enter');
    await page.getByText('done', { exact: true }).waitFor();
    expect((await many.untilReceived('tools/call')).params).toMatchObject({ arguments: { text: 'typed' } });
    expect(faults).toEqual([]);
  });
});

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('Key or token').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Names of the items in sight. */
function options(page: Page): Promise<string[]> {
  return page.getByRole('listbox').locator('.name bdi').allInnerTexts();
}

/** Chooses an item; resolves with its part of the page. */
async function choose(page: Page, name: string) {
  await page.getByRole('listbox').getByRole('option').filter({ hasText: name }).first().click();
  const detail = page.getByRole('region', { name: 'Item' });
  await detail.getByRole('heading', { name, exact: true }).waitFor();
  await detail.getByRole('heading', { name: 'Try it' }).waitFor();
  return detail;
}

/** What has the focus is called so. */
function focused(page: Page): Promise<unknown> {
  return page.evaluate(`(() => {
    const { activeElement: at } = document;
    return at?.getAttribute('aria-label') ?? at?.labels?.[0]?.textContent ?? at?.textContent;
  })()`);
}
