# The gateway as a container. What is decided here, and why: docs/decisions/0018-container-image.md
FROM node:26-slim AS base
WORKDIR /app
COPY package.json package-lock.json ./

# Everything, to build with. Install scripts stay off: none of the packages needs one here.
FROM base AS build
RUN npm ci --ignore-scripts
COPY .ci/build.ts .ci/undici.cjs ./.ci/
COPY src ./src
RUN npm run build

# An MCP server to try the gateway with: docker-compose.yml. Not part of the gateway's image.
FROM build AS example-server
ENV PORT=3001
USER 1000:1000
EXPOSE 3001
CMD ["node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js", "streamableHttp"]

# MALLOC_ARENA_MAX: one thread asks for nearly all memory; arenas for the others cost 6 MB and bring nothing.
FROM base AS gateway
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=1 \
    PATCHBAY_CONFIG=/etc/patchbay/gateway.yaml \
    PATCHBAY_HOST=0.0.0.0 \
    PATCHBAY_PORT=3333 \
    XDG_STATE_HOME=/var/lib
# Here the gateway keeps the key that lets sessions outlive it.
RUN install -d -m 0700 -o 1000 -g 1000 /var/lib/patchbay
COPY --from=build /app/dist ./dist
COPY LICENSE ./
# By number, so that an orchestrator can verify that it is not root: the user `node` of the base image.
USER 1000:1000
VOLUME ["/var/lib/patchbay"]
EXPOSE 3333
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PATCHBAY_PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Exec form: signals reach the gateway itself, which drains and ends the servers that it has started.
ENTRYPOINT ["node", "dist/main.js"]
CMD ["serve"]
