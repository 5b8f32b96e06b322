// The same promises where the services share a process.
import '../../testing/as-neighbours.js'
import './stream.int-spec.js'
