import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { WebChannel } from '../channels/web/index.ts';
import { chatsOf } from '../channels/web/person-chats.ts';
import { sessionId } from '../core/session.ts';
import { serveWeb, type WebServer } from '../http/server.ts';
import { tokenIn } from '../http/token.ts';
import { owner } from './channels.ts';
import type { GatewayProgram } from './gateway.ts';
import type { SessionPeers } from './session-peers.ts';
import { gatewayStatus, statusView } from './status/gateway-status.ts';
import { liveness, readiness } from './status/health.ts';
import { gatewayMetrics } from './status/metrics.ts';
import { secretsObstacle, webSecrets } from './web-secrets.ts';

const pages = fileURLToPath(new URL('../../dist-web/', import.meta.url));

/** Serves the page of the owner, its interface and the metrics. */
export async function servePage(
  program: GatewayProgram,
  page: WebChannel,
  peers: SessionPeers,
  log: (line: string) => void,
): Promise<WebServer> {
  const { app, gateway } = program;
  const { config, environment, home } = app.loaded;
  const { web } = config;
  const idOf = (chat: string) => sessionId({ platform: page.kind, workspace: undefined, chat, thread: undefined, user: owner.id });
  const { webLog, signIns, audit } = await app.store();
  return await serveWeb({
    host: web.host,
    port: web.port,
    behindTls: web.behind_tls,
    publicUrl: web.public_url,
    token: environment[web.token_env] || tokenIn(join(home, 'web-token')),
    pages,
    log,
    refusalOf: (socket) => peers.refusalOfConnection('The page', socket),
    parts: {
      chats: chatsOf(page, webLog, owner),
      signIns,
      secrets: webSecrets({
        load: program.reload,
        follow: async () => {
          await program.config.fresh();
          return program.config.problem;
        },
        obstacle: () => secretsObstacle(app),
        record: (events) => audit.append(events),
        redact: app.redact,
      }),
      status: async () => statusView(await gatewayStatus(program)),
      stop: async (chat) => void (await gateway.stopTurn(idOf(chat))),
      metrics: () => gatewayMetrics(program),
      liveness: () => liveness(program),
      readiness: () => readiness(program),
    },
  });
}
