// Jest takes no timeout for one project of several; each tier names its own in `globals`.
jest.setTimeout(globalThis.patience)
