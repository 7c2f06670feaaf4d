# The sample application: its three roles and the command line are one image. docker-compose.yml starts them.

FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY lib ./lib
COPY sample-app ./sample-app
COPY scripts/keep-shop-packages.mjs scripts/build-page.mjs ./scripts/
RUN node node_modules/typescript/bin/tsc -p sample-app/tsconfig.json && node scripts/build-page.mjs dist/lib
RUN node scripts/keep-shop-packages.mjs && npm prune --ignore-scripts --no-audit --no-fund

FROM node:22-bookworm-slim
ENV NODE_ENV=production PATH=/app/node_modules/.bin:$PATH
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# As npm does for an application that depends on nestjs-tarefa: `npx tarefa`, or without npm in between, `tarefa`.
RUN chmod 755 dist/lib/cli/main.js && mkdir -p node_modules/.bin && ln -s ../../dist/lib/cli/main.js node_modules/.bin/tarefa
USER node
EXPOSE 3000
# No shell and no npm in between: signals reach the process that has to finish its work.
CMD ["node", "--enable-source-maps", "dist/sample-app/main.js"]
