import type PQueue from 'p-queue';
import type { CallOptions } from './calls.ts';

/**
 * Runs one call in a bounded lane. The place is taken while the upstream works, and given back as soon as the call
 * waits for a person: answers of one slow user must not block the calls of others.
 */
export async function inLane<T>(
  lane: PQueue,
  options: CallOptions,
  run: (watched: CallOptions) => Promise<T>,
): Promise<T> {
  const { onQuestion } = options;
  if (onQuestion === undefined) {
    return lane.add(() => run(options));
  }
  return new Promise<T>((resolve, reject) => {
    lane
      .add(
        () =>
          new Promise<void>((leave) => {
            const watched: CallOptions = {
              ...options,
              onQuestion: (question) => {
                leave();
                return onQuestion(question);
              },
            };
            run(watched).then(resolve, reject).finally(leave);
          }),
      )
      .catch(reject);
  });
}
