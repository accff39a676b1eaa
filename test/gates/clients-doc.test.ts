import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { recordings } from '../clients/recording.ts';
import { REMARKS } from '../clients/remarks.ts';
import { clientsPage, PAGE } from '../clients/table.ts';

it('docs/clients.md is what the recordings say; run: node test/clients/table.ts', () => {
  expect(readFileSync(PAGE, 'utf8')).toBe(clientsPage());
});

it('every remark is about a recorded client, and every client has one', () => {
  const names = recordings().map(({ client, version }) => `${client} ${version}`);
  expect(Object.keys(REMARKS).toSorted()).toEqual(names.toSorted());
});
