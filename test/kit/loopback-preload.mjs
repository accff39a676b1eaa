// Loaded with --import into servers that we do not own: whatever they listen on becomes a free port on loopback, which
// is told on stderr as `LISTENING <port>`.
import { Server } from 'node:net';

const listen = Server.prototype.listen;
Server.prototype.listen = function listenOnLoopback(...args) {
  const ready = args.find((argument) => typeof argument === 'function');
  this.once('listening', () => process.stderr.write(`LISTENING ${this.address().port}\n`));
  return listen.call(this, 0, '127.0.0.1', ready);
};
