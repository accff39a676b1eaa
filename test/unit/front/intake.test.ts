import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { type Bytes, inPieces } from '../../../src/base/pieces.ts';
import type { Settings } from '../../../src/config/settings.ts';
import { Intake } from '../../../src/front/intake.ts';

const intakeWith = (maxBodyBytes: number, bodiesBytes: number) =>
  new Intake(() => ({ maxBodyBytes, bodiesBytes }) as Settings['limits']);

/** As much of a request as an intake looks at. */
const requestWith = (headers: Record<string, string> = {}) =>
  ({ headers, heldBytes: 0 }) as unknown as FastifyRequest;

/** What an intake made of a body; rejects with what it refused it for. */
function taken(intake: Intake, request: FastifyRequest, body: PassThrough): Promise<Bytes | undefined> {
  return new Promise((resolve, reject) => {
    intake.read(request, body, (fault, bytes) => (fault === null ? resolve(bytes) : reject(fault)));
  });
}

/** A body that is still to come to its end. */
function bodyOf(...parts: readonly (string | Uint8Array)[]): PassThrough {
  const body = new PassThrough();
  for (const part of parts) {
    body.write(part);
  }
  return body;
}

describe('the body of a request', () => {
  it('is what was sent, in whatever parts it came', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 50 })), async (parts) => {
        const body = bodyOf(...parts);
        body.end();
        const bytes = await taken(intakeWith(10_000, 10_000), requestWith(), body);
        expect(bytes === undefined ? bytes : inPieces(bytes).joined()).toEqual(Buffer.concat(parts));
      }),
    );
  });

  it.each([
    ['in a content encoding', { 'content-encoding': 'gzip' }, 'TYPE_REFUSED'],
    ['announced as too large', { 'content-length': '11' }, 'BODY_TOO_LARGE'],
    ['larger than it may be', {}, 'BODY_TOO_LARGE'],
  ])('is refused before its end where it is %s', async (_what, headers, code) => {
    const intake = intakeWith(10, 10);
    const request = requestWith(headers);
    await expect(taken(intake, request, bodyOf('12345', '678901'))).rejects.toMatchObject({ code });
    expect(request.heldBytes).toBe(0);
  });

  it('counts together with the others until it was answered, and no longer', async () => {
    const intake = intakeWith(10, 12);
    const first = requestWith();
    const ended = bodyOf('1234567890');
    ended.end();
    await taken(intake, first, ended);
    expect(first.heldBytes).toBe(10);
    const refused = { code: 'BODIES_FULL', data: { retryAfterMs: 1_000 } };
    await expect(taken(intake, requestWith(), bodyOf('123'))).rejects.toMatchObject(refused);
    intake.done(first);
    intake.done(first);
    const again = bodyOf('1234567890');
    again.end();
    await expect(taken(intake, requestWith(), again)).resolves.toHaveLength(10);
    await expect(taken(intake, requestWith(), bodyOf('123'))).rejects.toMatchObject(refused);
  });

  it('is refused once, however much still comes and whatever then happens to it', async () => {
    const body = bodyOf('12345678901');
    const answers: unknown[] = [];
    intakeWith(10, 10).read(requestWith(), body, (fault) => answers.push(fault));
    await expect.poll(() => answers.length).toBe(1);
    body.write('more');
    body.destroy(new Error('reset'));
    await new Promise((resolve) => body.on('close', resolve));
    expect(answers).toEqual([expect.objectContaining({ code: 'BODY_TOO_LARGE' })]);
  });

  it.each([
    ['breaks off', undefined],
    ['fails', new Error('reset')],
  ])('is no fault of the gateway where it %s, also before anybody reads it', async (_what, fault) => {
    const intake = intakeWith(10, 10);
    const request = requestWith();
    const under = bodyOf('123');
    const reading = taken(intake, request, under);
    under.destroy(fault);
    const gone = { code: 'CANCELLED', cause: fault ?? null };
    await expect(reading).rejects.toMatchObject(gone);
    expect(request.heldBytes).toBe(0);
    const before = bodyOf('123').on('error', () => {});
    before.destroy(fault);
    await new Promise((resolve) => before.on('close', resolve));
    await expect(taken(intake, requestWith(), before)).rejects.toMatchObject(gone);
  });
});
