import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { inRepository } from './generate.ts';
import { CLI_PAGE, cliPage } from './generate-cli.ts';

it(`${CLI_PAGE} is what the declaration of the command line makes; run: node test/gates/generate-cli.ts`, () => {
  expect(readFileSync(inRepository(CLI_PAGE), 'utf8')).toBe(cliPage());
});
