import { cluster } from './cluster.ts';
import { compare } from './compare.ts';
import { growth } from './growth.ts';
import { micro } from './micro.ts';
import { type Options, optionsFrom, USAGE } from './options.ts';
import { profile } from './profile.ts';
import { scale } from './scale.ts';

const COMMANDS: Readonly<Record<Options['command'], (options: Options) => Promise<number>>> = {
  cluster,
  compare,
  growth,
  micro,
  profile,
  scale,
};

const options = optionsFrom(process.argv.slice(2));
if (options.help) {
  process.stdout.write(USAGE);
} else {
  process.exitCode = await COMMANDS[options.command](options);
}
