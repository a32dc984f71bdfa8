import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { WebSocketServer } from 'ws';
import { removeTree } from '../../../src/backends/sandbox-directory.ts';
import { Authority } from '../../world/authority.ts';
import { LoopbackServer } from '../loopback-server.ts';
import { admit, admitByQuota, type Level } from './admission.ts';
import { serveExec } from './exec-channel.ts';
import { FakeNode, type NodePod } from './node.ts';
import { ObjectStore, type StoredEvent } from './object-store.ts';
import { type FakeObject, podSpecOf, Refusal, statusBody } from './objects.ts';

export interface Call {
  verb: 'get' | 'list' | 'watch' | 'create' | 'delete';
  /** `pods`, `pods/exec` or `persistentvolumeclaims`. */
  resource: string;
  name: string | undefined;
  query: URLSearchParams;
}

/** What a role allows. */
export interface RightsRule {
  resources: readonly string[];
  verbs: readonly string[];
}

/** How far a pod of an image comes. */
export type ImageFate =
  | { kind: 'starts' }
  | { kind: 'waits'; reason: string; message: string }
  | { kind: 'unschedulable'; message: string }
  | { kind: 'fails'; code: number; message: string };

interface DeleteOptions {
  gracePeriodSeconds?: number;
  preconditions?: { uid?: string };
}

const namespace = 'hermetic-sandboxes';
const allVerbs = ['get', 'list', 'watch', 'create', 'delete'];

/** An API server with one namespace and one node, on loopback, with the ways of a real one that surprise its clients. */
export class FakeCluster {
  readonly directory = mkdtempSync(join(tmpdir(), 'hermetic-cluster-'));
  readonly authority = new Authority(this.directory);
  readonly pods = new ObjectStore('pods');
  readonly claims = new ObjectStore('persistentvolumeclaims');
  /** Every call that was allowed. */
  readonly calls: Call[] = [];
  /** The users of bearer tokens. */
  readonly tokens = new Map([['token-of-hermetic', 'system:serviceaccount:hermetic:gateway']]);
  readonly fates = new Map<string, ImageFate>([['test:image', { kind: 'starts' }]]);
  rules: readonly RightsRule[] = [{ resources: ['pods', 'pods/exec', 'persistentvolumeclaims'], verbs: allVerbs }];
  level: Level = 'baseline';
  /** How many pods there may be. */
  quota: number | undefined;
  /** So long the streams of commands stay open after their pod has ended. */
  lingerMs = 4_000;
  bookmarkMs = 500;
  /** The versions of the exec protocol that it speaks. */
  protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
  /** Refuses every exec with this text, as an API server that does not reach the node. */
  dialingError: string | undefined;
  /** Answers a call in another way; says whether it did. */
  instead: ((call: Call, request: IncomingMessage, response: ServerResponse | Duplex) => boolean | Promise<boolean>) | undefined;
  readonly #node = new FakeNode(this.directory);
  readonly #server: LoopbackServer<Server>;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => this.protocols.find((one) => offered.has(one)) ?? false,
  });
  readonly #running = new Map<string, NodePod>();
  readonly #watches = new Set<ServerResponse>();

  private constructor() {
    const client = { ca: [this.authority.certificateText], requestCert: true, rejectUnauthorized: false };
    const options = { ...this.authority.sign('localhost'), ...client, maxHeaderSize: 256 * 1024 };
    const server = createServer(options, (request, response) => void this.#serve(request, response).catch(() => response.destroy()));
    server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head).catch(() => socket.destroy()));
    this.#server = new LoopbackServer(server);
  }

  static async start(): Promise<FakeCluster> {
    const cluster = new FakeCluster();
    await cluster.comeUp();
    return cluster;
  }

  get address(): string {
    return this.#server.origin.replace('http://127.0.0.1', 'https://localhost');
  }

  /** A kubeconfig that reaches it; parts of its cluster and its user can be others. */
  kubeconfig(user: object = { token: 'token-of-hermetic' }, cluster: object = {}): string {
    const ca = this.authority.certificateText.toString('base64');
    const place = { server: this.address, 'certificate-authority-data': ca, ...cluster };
    const path = join(mkdtempSync(join(this.directory, 'kubeconfig-')), 'config');
    const content = {
      'current-context': 'fake',
      clusters: [{ name: 'fake', cluster: place }],
      users: [{ name: 'hermetic', user }],
      contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'hermetic' } }],
    };
    writeFileSync(path, JSON.stringify(content), { mode: 0o600 });
    return path;
  }

  goDown(): Promise<void> {
    return this.#server.goDown();
  }

  comeUp(): Promise<void> {
    return this.#server.comeUp();
  }

  /** Ends every connection, and takes new ones. */
  cutAll(): void {
    this.#server.cutAll();
  }

  /** Ends every watch in an orderly way, as a server does now and then. */
  endWatches(): void {
    for (const response of this.#watches) response.end();
  }

  get watchCount(): number {
    return this.#watches.size;
  }

  /** As `kubectl delete` does. */
  delete(name: string, graceMs = 2_000): void {
    const pod = this.pods.get(name);
    if (pod.metadata.deletionTimestamp) return;
    pod.metadata.deletionTimestamp = new Date().toISOString();
    this.pods.change(pod, {});
    const running = this.#running.get(pod.metadata.uid);
    running?.end(graceMs);
    if (!running || graceMs === 0) this.pods.remove(pod);
  }

  /** As a kubelet that needs room: the object stays. */
  async evict(name: string, message: string): Promise<void> {
    const pod = this.pods.get(name);
    this.pods.change(pod, { phase: 'Failed', reason: 'Evicted', message });
    await this.#endNow(pod);
  }

  /** As the kernel does when a pod has used up its memory. */
  async endForMemory(name: string): Promise<void> {
    const pod = this.pods.get(name);
    pod.status.reasonOfEnd = 'OOMKilled';
    await this.#endNow(pod);
  }

  async #endNow(pod: FakeObject): Promise<void> {
    const running = this.#running.get(pod.metadata.uid);
    running?.end(0);
    await running?.exited;
  }

  async close(): Promise<void> {
    await this.goDown();
    await Promise.all(this.pods.all().map((pod) => this.#endNow(pod)));
    await removeTree(this.directory);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    try {
      const call = this.#authorized(request);
      if (await this.instead?.(call, request, response)) return;
      this.calls.push(call);
      if (call.verb === 'watch') return this.#watch(call, response);
      const text = Buffer.concat(body).toString();
      const [status, answer] = this.#answer(call, (text === '' ? {} : JSON.parse(text)) as FakeObject & DeleteOptions);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal(500, 'InternalError', String(error));
      response.writeHead(refusal.code, { 'content-type': 'application/json' }).end(refusal.body);
    }
  }

  #authorized(request: IncomingMessage): Call {
    const user = this.#userOf(request);
    if (user === undefined) throw new Refusal(401, 'Unauthorized', 'Unauthorized');
    const call = callOf(request);
    const { verb, resource, name } = call;
    const may = (one: string): boolean => this.rules.some(({ resources, verbs }) => resources.includes(resource) && verbs.includes(one));
    const subject = `User "${user}" cannot ${verb} resource "${resource}" in API group "" in the namespace "${namespace}"`;
    const object = `${resource.replace(/\/.*/, '')}${name === undefined ? '' : ` "${name}"`}`;
    if (!may(verb)) throw new Refusal(403, 'Forbidden', `${object} is forbidden: ${subject}`);
    // An exec by WebSocket needs the right to create, too, and a refusal does not say so.
    if (resource === 'pods/exec' && !may('create')) throw new Refusal(403, 'Forbidden', `${object} is forbidden: `);
    return call;
  }

  #userOf({ socket, headers }: IncomingMessage): string | undefined {
    const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? [];
    if (token !== '') return this.tokens.get(token);
    if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
    const { CN } = socket.getPeerCertificate().subject;
    return Array.isArray(CN) ? CN[0] : CN;
  }

  #answer(call: Call, body: FakeObject & DeleteOptions): [number, object] {
    const store = call.resource === 'pods' ? this.pods : this.claims;
    switch (call.verb) {
      case 'list':
        return [200, { items: store.list(call.query.get('labelSelector')), metadata: { resourceVersion: String(store.version) } }];
      case 'get':
        return [200, store.get(call.name ?? '')];
      case 'create':
        return [201, store === this.pods ? this.#createPod(body) : this.#createClaim(body)];
      case 'delete':
        return [200, this.#delete(store, store.get(call.name ?? ''), body)];
      default:
        throw new Refusal(405, 'MethodNotAllowed', 'not here');
    }
  }

  #createPod(body: FakeObject): FakeObject {
    admit(body, this.level, ['gvisor']);
    admitByQuota(body, this.pods.all(), this.quota);
    const pod = this.pods.add(namespace, body);
    const answer = structuredClone(pod);
    const failed = (error: unknown): void => this.pods.change(pod, { phase: 'Failed', message: String(error) });
    setImmediate(() => void this.#run(pod).catch(failed));
    return answer;
  }

  #createClaim(body: FakeObject): FakeObject {
    const claim = this.claims.add(namespace, body);
    mkdirSync(this.#node.claimDirectory(claim.metadata.uid), { recursive: true });
    return claim;
  }

  #delete(store: ObjectStore, object: FakeObject, { preconditions, gracePeriodSeconds }: DeleteOptions): object {
    const { name, uid } = object.metadata;
    if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
      const why = `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid})`;
      throw new Refusal(409, 'Conflict', `Operation cannot be fulfilled on ${store.resource} "${name}": ${why}`);
    }
    if (store === this.pods) this.delete(name, (gracePeriodSeconds ?? podSpecOf(object).terminationGracePeriodSeconds) * 1000);
    else store.remove(object);
    return object;
  }

  /** What the scheduler and the kubelet do with a pod. */
  async #run(pod: FakeObject): Promise<void> {
    const spec = podSpecOf(pod);
    const { image } = spec.containers[0];
    const missing: ImageFate = { kind: 'waits', reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}": not found` };
    const fate = this.fates.get(image) ?? missing;
    const told = (state: object): void => this.pods.change(pod, { containerStatuses: [{ name: 'sandbox', state }] });
    if (fate.kind === 'unschedulable') {
      const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: fate.message };
      return this.pods.change(pod, { conditions: [condition] });
    }
    told({ waiting: { reason: 'ContainerCreating' } });
    if (fate.kind === 'waits') return told({ waiting: { reason: fate.reason, message: fate.message } });
    if (fate.kind === 'fails') {
      const terminated = { exitCode: fate.code, reason: 'StartError', message: fate.message };
      return this.pods.change(pod, { phase: 'Failed', containerStatuses: [{ name: 'sandbox', state: { terminated } }] });
    }
    await this.#start(pod, spec.activeDeadlineSeconds);
  }

  async #start(pod: FakeObject, deadlineSeconds: number | undefined): Promise<void> {
    const directories = new Map(this.claims.all().map(({ metadata: { name, uid } }) => [name, this.#node.claimDirectory(uid)]));
    const running = await this.#node.start(pod, directories);
    const { uid } = pod.metadata;
    this.#running.set(uid, running);
    const state = (value: object) => ({ containerStatuses: [{ name: 'sandbox', state: value }] });
    const exceed = (): void => {
      this.pods.change(pod, { reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the specified deadline' });
      running.end(0);
    };
    const late = setTimeout(exceed, Math.min((deadlineSeconds ?? Number.POSITIVE_INFINITY) * 1000, 2 ** 31 - 1)).unref();
    void running.exited.then((exitCode) => {
      clearTimeout(late);
      this.#running.delete(uid);
      const reason = pod.status.reasonOfEnd ?? (exitCode === 0 ? 'Completed' : 'Error');
      this.pods.change(pod, { phase: exitCode === 0 ? 'Succeeded' : 'Failed', ...state({ terminated: { exitCode, reason } }) });
      if (pod.metadata.deletionTimestamp) this.pods.remove(pod);
    });
    if (pod.metadata.deletionTimestamp) running.end(0);
    this.pods.change(pod, { phase: 'Running', ...state({ running: { startedAt: new Date().toISOString() } }) });
  }

  #watch({ query }: Call, response: ServerResponse): void {
    const [label = '', value] = query.get('labelSelector')?.split('=') ?? [];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const write = (type: string, object: string): void => {
      if (!response.writableEnded) response.write(`{"type":"${type}","object":${object}}\n`);
    };
    const tell = ({ type, object }: StoredEvent): void => {
      const { metadata } = JSON.parse(object) as FakeObject;
      if (metadata.labels?.[label] === value) write(type, object);
    };
    const missed = this.pods.since(Number(query.get('resourceVersion')));
    if (!missed) {
      // With the status 200: the error is an event.
      write('ERROR', statusBody(410, 'Expired', 'too old resource version'));
      response.end();
      return;
    }
    for (const event of missed) tell(event);
    const stop = this.pods.listen(tell);
    const bookmark = (): void =>
      write('BOOKMARK', JSON.stringify({ kind: 'Pod', metadata: { resourceVersion: String(this.pods.version) } }));
    const timer = setInterval(bookmark, this.bookmarkMs).unref();
    this.#watches.add(response);
    response.on('close', () => {
      this.#watches.delete(response);
      clearInterval(timer);
      stop();
    });
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => undefined);
    try {
      const call = this.#authorized(request);
      if (await this.instead?.(call, request, socket)) return;
      const running = this.#execTarget(this.pods.get(call.name ?? ''));
      this.calls.push(call, { ...call, verb: 'create' });
      const { uid } = this.pods.get(call.name ?? '').metadata;
      this.#sockets.handleUpgrade(request, socket, head, (accepted) => {
        accepted.pause();
        const lingerMs = (): number => (this.#running.has(uid) ? 0 : this.lingerMs);
        const served = running.exec(call.query.getAll('command')).then((process) => {
          accepted.resume();
          return serveExec(accepted, process, { lingerMs });
        });
        served.catch(() => accepted.terminate());
      });
    } catch (error) {
      const { code, body } = error instanceof Refusal ? error : new Refusal(500, 'InternalError', String(error));
      const headers = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`;
      socket.end(`HTTP/1.1 ${code} Refused\r\n${headers}\r\n\r\n${body}`);
    }
  }

  #execTarget({ metadata, status }: FakeObject): NodePod {
    if (this.dialingError !== undefined) throw new Refusal(500, 'InternalError', `error dialing backend: ${this.dialingError}`);
    if (status.phase === 'Succeeded' || status.phase === 'Failed') {
      throw new Refusal(400, 'BadRequest', `cannot exec into a container in a completed pod; current phase is ${status.phase}`);
    }
    const running = this.#running.get(metadata.uid);
    if (!running) throw new Refusal(500, 'InternalError', 'unable to upgrade connection: container not found ("sandbox")');
    return running;
  }
}

const pathPattern = /^\/api\/v1\/namespaces\/([^/]+)\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/;

function callOf(request: IncomingMessage): Call {
  const url = new URL(request.url ?? '', 'https://localhost');
  const [, wanted, resource = '', name, sub] = pathPattern.exec(url.pathname) ?? [];
  const query = url.searchParams;
  const reading = name !== undefined ? 'get' : query.get('watch') === '1' ? 'watch' : 'list';
  const verb = request.method === 'POST' ? 'create' : request.method === 'DELETE' ? 'delete' : reading;
  // A list of a namespace that does not exist is empty.
  if (wanted !== namespace && verb === 'create') throw new Refusal(404, 'NotFound', `namespaces "${wanted}" not found`);
  if (wanted !== namespace && verb !== 'list') throw new Refusal(404, 'NotFound', `${resource} "${name}" not found`);
  return { verb, resource: sub === undefined ? resource : `${resource}/${sub}`, name, query };
}
