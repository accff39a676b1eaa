import { join } from 'node:path';
import { ROOT } from '../gates/repository.ts';

/** Where the run of the tests has built the program that is tested, from the sources as they are (`build-program.ts`). */
export const FOLDER = join(ROOT, 'node_modules/.cache/patchbay-test');

/** The program as it is shipped: one file. */
export const MAIN = join(FOLDER, 'main.js');

/** The scripted upstream of `stdio-upstream.ts`, as one file: hundreds are started, and each finds a dozen files otherwise. */
export const SCRIPTED = join(FOLDER, 'scripted-stdio.js');
