import { asNeighbours } from '../../testing/bus.js'

asNeighbours()
