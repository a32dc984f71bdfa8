/** Where the proxy listens inside a restricted sandbox. */
export const proxyPort = 3128;

/** The content of /etc/resolv.conf inside: the egress thread answers there, with addresses of its own. */
export const restrictedResolver = '127.0.0.1';

const proxy = `http://127.0.0.1:${proxyPort}`;
const direct = 'localhost,127.0.0.1,::1';

/**
 * The variables of a restricted sandbox, for programs that know proxies: they are told why a connection was refused. No `ALL_PROXY`: Python's
 * httpx fails at once when it names a SOCKS proxy.
 */
export const egressEnvironment: Readonly<Record<string, string>> = {
  http_proxy: proxy,
  https_proxy: proxy,
  HTTP_PROXY: proxy,
  HTTPS_PROXY: proxy,
  no_proxy: direct,
  NO_PROXY: direct,
  NODE_USE_ENV_PROXY: '1',
};
