import { asNeighbours } from './bus.js'

// For a suite that imports this before another: its peers are the services of one process.
asNeighbours()
