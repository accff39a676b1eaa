import type { Socket } from 'node:net';
import type { ConnectionError, FastifyError, FastifyReply } from 'fastify';
import { GatewayError } from '../base/errors.ts';
import type { FrontOptions } from './front.ts';
import { refusal } from './refusal.ts';

/** An `import` of `node:http` asks for all that is in it, and so makes Node load its own `fetch`: 50 ms, and 4 MB for ever. */
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/**
 * Answers what is no HTTP request, or not one in time, in the words of the one table: there is no request yet that a
 * route could refuse. Then the connection ends.
 */
export function malformedHttp({
  log,
  metrics,
}: Pick<FrontOptions, 'log' | 'metrics'>): (error: ConnectionError, socket: Socket) => void {
  return (thrown, socket) => {
    if (thrown.code === 'ECONNRESET' || socket.destroyed) {
      return;
    }
    const error = fromParser(thrown);
    log[error.row.log]({ err: error }, 'refused');
    metrics?.refused(error.code);
    if (socket.writable && !isAnswering(socket)) {
      const { json: body } = refusal(error, undefined);
      const status = `${error.row.http} ${STATUS_CODES[error.row.http]}`;
      const headers = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`;
      socket.write(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${body}`);
    }
    socket.destroySoon();
  };
}

/** The same for a path that cannot be decoded: the framework has a request then, but no hook has seen it. */
export function undecodablePath(thrown: FastifyError, reply: FastifyReply): void {
  const { status, json } = refusal(new GatewayError('HTTP_INVALID', { cause: thrown }), undefined);
  reply.server.noteRefusal('HTTP_INVALID');
  void reply.code(status).type('application/json').send(json);
}

function fromParser(thrown: ConnectionError): GatewayError {
  switch (thrown.code as string) {
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('HEADERS_TOO_LARGE', { cause: thrown });
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('REQUEST_SLOW', { cause: thrown });
    default:
      return new GatewayError('HTTP_INVALID', { cause: thrown });
  }
}

/** An answer is on its way on this connection: a second one would stand in the middle of it. Node looks here as well. */
function isAnswering(socket: Socket): boolean {
  const answer: unknown = Reflect.get(socket, '_httpMessage');
  return typeof answer === 'object' && answer !== null && Reflect.get(answer, 'headersSent') === true;
}
