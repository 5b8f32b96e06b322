// The same promises where the services share a process.
import './neighbours.fixture.js'
import './stream.int-spec.js'
