// Runs the room rules and refuses a silent pass: a cruise that saw fewer modules than there are files proves nothing.
import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cruise } from 'dependency-cruiser';

const { forbidden, options } = createRequire(import.meta.url)('../../.dependency-cruiser.cjs');
const { output } = await cruise(
  ['src'],
  { ...options, ruleSet: { forbidden }, validate: true, outputType: 'json' },
  undefined,
  {},
);
const { modules, summary } = JSON.parse(output);
const files = globSync('src/**/*.ts').length;
const seen = modules.filter((module) => /^src\/.*\.ts$/.test(module.source)).length;
for (const violation of summary.violations) {
  console.error(`${violation.rule.name}: ${violation.from} -> ${violation.to}`);
}
if (seen < files) {
  console.error(`the cruise saw ${seen} modules of ${files}`);
}
if (summary.violations.length > 0 || seen < files) {
  process.exit(1);
}
console.log(`rooms: ${seen} modules, no forbidden import`);
