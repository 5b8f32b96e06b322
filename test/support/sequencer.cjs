// Cheap tiers first, so that a plain mistake shows in seconds; inside a tier Jest's own order (slow and failed first).
const Sequencer = require('@jest/test-sequencer').default

const order = ['unit', 'integration', 'e2e']
const rank = (test) => order.indexOf(test.context.config.displayName?.name)

module.exports = class extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((a, b) => rank(a) - rank(b))
  }
}
