import fc from 'fast-check';

/** Cases of each property: other ones in every run, or as many as `PATCHBAY_FUZZ` says. */
const RUNS = Number(process.env['PATCHBAY_FUZZ'] ?? 120);
/** So many of them at a time: most of one is waiting. */
const TOGETHER = 20;
/** ms */
export const FUZZ_TIMEOUT = 60_000 + RUNS * 200;
/** Of a case, and of what was wrong with it. */
const TOLD = 1_500;

/**
 * Runs a property over many cases. Throws with the seed and the case, so that `PATCHBAY_FUZZ_SEED` runs it again.
 * `together` of them at a time; `share` of the usual number, where one takes long.
 * Cases are not made smaller: most are small, and each would have to wait for what went wrong.
 */
export async function checked<T>(
  cases: fc.Arbitrary<T>,
  run: (one: T) => Promise<void>,
  together = TOGETHER,
  share = 1,
): Promise<void> {
  const told = async (one: T) => {
    try {
      await run(one);
    } catch (thrown) {
      const fault = thrown instanceof Error ? thrown.message : String(thrown);
      throw new Error(`${fault.slice(0, TOLD)}\nfor ${fc.stringify(one).slice(0, TOLD)}`, { cause: thrown });
    }
  };
  const many = fc.array(cases, { minLength: together, maxLength: together });
  const seed = process.env['PATCHBAY_FUZZ_SEED'];
  await fc.assert(
    fc.asyncProperty(many, async (group) => {
      await Promise.all(group.map(told));
    }),
    {
      numRuns: Math.ceil((RUNS * share) / together),
      endOnFailure: true,
      ...(seed === undefined ? {} : { seed: Number(seed) }),
      asyncReporter: async ({ failed, seed: used, errorInstance }) => {
        if (failed) {
          throw new Error(`seed ${used}: ${errorInstance instanceof Error ? errorInstance.message : ''}`);
        }
      },
    },
  );
}
