import { type ErrorCode, HermeticError } from '../../core/errors.ts';
import { errorText } from '../../lib/error-text.ts';
import { printable } from '../../lib/printable.ts';
import { Refusal } from '../refusal.ts';

interface Rule {
  status?: number;
  matches: RegExp;
  code: ErrorCode;
  hint?: string;
  retryAfterMs?: number;
}

const applyManifests = 'Apply the manifests: kubectl apply -k deploy/kubernetes';
const roomMs = 5_000;
const busyMs = 1_000;

/** The first rule that fits decides, so special cases come first. */
const rules: readonly Rule[] = [
  {
    status: 401,
    matches: /^/,
    code: 'backend/not-permitted',
    hint: 'The credentials are wrong or have expired. Renew them, and see terminal.kubernetes_kubeconfig and kubernetes_context.',
  },
  {
    status: 403,
    matches: /exceeded quota/i,
    code: 'sandbox/no-room',
    hint: 'Wait until another sandbox has ended, or raise the ResourceQuota of the namespace.',
    retryAfterMs: roomMs,
  },
  {
    status: 403,
    matches: /failed quota: .*must specify/i,
    code: 'backend/cannot-honour',
    hint: 'The ResourceQuota asks for limits that are not set: set terminal.container_cpu, container_memory and container_disk, or add a LimitRange.',
  },
  {
    status: 403,
    matches: /violates PodSecurity/i,
    code: 'backend/cannot-honour',
    hint: 'Label the namespace pod-security.kubernetes.io/enforce=baseline, or set terminal.kubernetes_user to nonroot for the level restricted.',
  },
  {
    status: 403,
    matches: /RuntimeClass .* not found/i,
    code: 'backend/cannot-honour',
    hint: 'See kubectl get runtimeclass, and change terminal.kubernetes_runtime_class.',
  },
  {
    // An exec by WebSocket for which one of its two rights is missing: nothing stands behind the colon.
    status: 403,
    matches: /is forbidden:\s*$/i,
    code: 'backend/not-permitted',
    hint: `A right is missing: pods/exec needs both get and create. ${applyManifests}`,
  },
  { status: 403, matches: /\bcannot [a-z]+ resource\b/i, code: 'backend/not-permitted', hint: applyManifests },
  {
    status: 403,
    matches: /being terminated/i,
    code: 'backend/unavailable',
    hint: 'The namespace is being deleted. Wait, and make it again.',
  },
  { status: 403, matches: /^/, code: 'backend/cannot-honour', hint: 'A rule of the cluster forbids the pod. See its admission policies.' },
  { status: 404, matches: /namespaces? ".*" not found/i, code: 'backend/unavailable', hint: applyManifests },
  { status: 404, matches: /^/, code: 'sandbox/not-found' },
  { status: 409, matches: /^/, code: 'sandbox/in-use', hint: 'Another program has made, changed or removed it meanwhile.' },
  {
    matches: /completed pod|container not found|container .* is not (?:running|created)|unable to upgrade connection: pod/i,
    code: 'sandbox/lost',
  },
  {
    status: 500,
    matches: /error dialing backend|dial tcp|i\/o timeout|no route to host/i,
    code: 'backend/not-running',
    hint: 'The API server does not reach the node of the pod. See kubectl get nodes.',
  },
  {
    status: 422,
    matches: /^/,
    code: 'backend/cannot-honour',
    hint: 'The cluster does not take a pod with these settings. See terminal.kubernetes_* and terminal.container_*.',
  },
  { status: 429, matches: /^/, code: 'backend/not-running', hint: 'The API server is busy.', retryAfterMs: busyMs },
  { status: 503, matches: /^/, code: 'backend/not-running', hint: 'The API server is not ready.', retryAfterMs: busyMs },
];

const maxQuoted = 1_000;

/** `text` is a Status object of the API server, or the text of what stands between us and it. */
export function refusalError(status: number, text: string): HermeticError {
  const message = printable(messageOf(text)).slice(0, maxQuoted);
  const rule = rules.find((candidate) => (candidate.status ?? status) === status && candidate.matches.test(message));
  return new HermeticError(rule?.code ?? 'sandbox/open-failed', `The Kubernetes API refused: ${message || `HTTP status ${status}`}`, {
    hint: rule?.hint,
    retryAfterMs: rule?.retryAfterMs,
    cause: new Refusal(status, message),
  });
}

function messageOf(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text);
    const message = typeof parsed === 'object' && parsed !== null && 'message' in parsed ? parsed.message : undefined;
    return typeof message === 'string' ? message : text;
  } catch {
    return text;
  }
}

const certificateCode = /^(?:CERT_|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET|DECRYPT)|HOSTNAME_MISMATCH)/;

/** The connection failed, so a request under way may have had its effect or not. */
export function connectionError(error: unknown, where: string): HermeticError {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? '';
  if (certificateCode.test(code)) {
    return new HermeticError('backend/unavailable', `The certificate of the Kubernetes API at ${where} is not trusted (${code}).`, {
      hint: 'Name the authority of the cluster in the kubeconfig (certificate-authority-data). Skipping the check is refused.',
      cause: error,
    });
  }
  return new HermeticError('backend/not-running', `The Kubernetes API at ${where} does not answer (${printable(errorText(error))}).`, {
    hint: 'Is the cluster up, and is this its address? See terminal.kubernetes_kubeconfig and kubernetes_context.',
    cause: error,
  });
}
