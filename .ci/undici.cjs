// The part of undici that the program uses. Its entry loads all of it, `fetch`, mocks and caches, at every start.
const Dispatcher = require('../node_modules/undici/lib/dispatcher/dispatcher');

Object.assign(Dispatcher.prototype, require('../node_modules/undici/lib/api'));

module.exports = {
  Agent: require('../node_modules/undici/lib/dispatcher/agent'),
  Pool: require('../node_modules/undici/lib/dispatcher/pool'),
  errors: require('../node_modules/undici/lib/core/errors'),
};
