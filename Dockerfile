# One image for every service: the command selects which one runs (node dist/apps/<service>/src/main.js).
# A registry or certificate of your own goes into the build as a secret, never into a layer:
#   docker build --secret id=npmrc,src=$HOME/.npmrc .
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=cache,target=/root/.npm \
    npm ci --ignore-scripts --loglevel=error \
 && ln -sf /usr/local/bin/node node_modules/.bin/node
COPY . .
RUN node scripts/build.mjs \
 && npm prune --omit=dev --ignore-scripts --loglevel=error \
 && ln -sf /usr/local/bin/node node_modules/.bin/node

FROM node:24-bookworm-slim
# What the host's nodes work with; the services need none of it.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends acl bash bubblewrap ca-certificates git procps ripgrep \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ENV NODE_ENV=production PATH=/app/bin:$PATH
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/bin ./bin
COPY --from=build /app/prisma/migrations ./prisma/migrations
COPY --from=build /app/scripts/health-check.mjs ./scripts/
COPY --from=build /app/docs ./docs
COPY --from=build /app/dist ./dist
RUN install --directory --owner=node --group=node --mode=0700 /data /owner
USER node
CMD ["node", "dist/apps/gateway/src/main.js"]
