import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

/**
 * Debian's package `chromium-headless-shell`, which `.ci/run` installs: the same engine without what a window needs, at
 * two thirds of the processor time. Without it, `chromium`.
 */
const BROWSERS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'] as const;
const CHROMIUM = BROWSERS.find((file) => existsSync(file));

/** False on a machine without a browser; a run of CI has one. */
export const HAS_BROWSER = CHROMIUM !== undefined || process.env['CI'] !== undefined;

/** Folder for screenshots; absent: none are taken. */
const SHOTS = process.env['PATCHBAY_SCREENSHOTS'] ?? '';

const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM ?? BROWSERS[0], headless: true, args: QUIET });
}

/** A page, and whatever went wrong in it. */
export interface Watched extends AsyncDisposable {
  readonly page: Page;
  /** Dialogs, faults of scripts, and errors on the console, but for refused requests; empty is good. */
  readonly faults: readonly string[];
}

/** A page in a profile of its own. */
export async function openPage(browser: Browser, url: string): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => faults.push(`fault: ${error.message}`));
  page.on('console', (message) => {
    // Chromium logs every answer above 399 as an error.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      faults.push(`console: ${message.text()}`);
    }
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin && !request.url().startsWith('data:')) {
      faults.push(`request to ${request.url()}`);
    }
  });
  await page.goto(url);
  return { page, faults, [Symbol.asyncDispose]: () => context.close() };
}

/** Keeps a picture of the page, where they are wanted. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (SHOTS !== '') {
    await mkdir(SHOTS, { recursive: true });
    await page.screenshot({ path: join(SHOTS, `${name}.png`) });
  }
}

interface AxeViolation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Nothing serious or critical is wrong with the page for people who cannot see it well, in both colour schemes. */
export async function expectAccessible(page: Page, name: string): Promise<void> {
  await page.evaluate(axe.source);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    // Nothing but colours depends on the scheme.
    const rules = colorScheme === 'light' ? '' : ', runOnly: ["color-contrast"]';
    const { violations } = await page.evaluate<{ violations: readonly AxeViolation[] }>(
      `axe.run(document, { resultTypes: ["violations"]${rules} })`,
    );
    const grave = violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(
        ({ id, nodes }) =>
          `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`,
      );
    expect(grave, `${name}, ${colorScheme}`).toEqual([]);
    await shoot(page, `${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}
