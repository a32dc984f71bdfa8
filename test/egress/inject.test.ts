import { describe, expect, it } from 'vitest';
import type { BoundSecret } from '../../src/core/egress.ts';
import { isFor, placeholderFor } from '../../src/egress/bound-secret.ts';
import { inject } from '../../src/egress/inject.ts';

const value = `ghp_${'R'.repeat(36)}`;
const github: BoundSecret = {
  name: 'GITHUB_TOKEN',
  value,
  placeholder: placeholderFor('GITHUB_TOKEN', value.length, 'key', 'ghp_'),
  destinations: [{ host: 'git.test', port: 443 }],
  headers: ['authorization', 'private-token'],
  query: false,
  path: false,
  exclusive: false,
};
const other: BoundSecret = { ...github, name: 'OTHER', value: 'v'.repeat(40), placeholder: placeholderFor('OTHER', 40, 'key') };
const send = (headers: Record<string, string | string[]>, path = '/', here = [github]) =>
  inject({ headers: listOf(headers), path }, here, [github, other]);

function listOf(headers: Record<string, string | string[]>): string[] {
  return Object.entries(headers).flatMap(([name, values]) => [values].flat().flatMap((value) => [name, value]));
}

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

describe('a placeholder', () => {
  it('has the length of the value, its prefix, and is the same for the same name and key', () => {
    expect(github.placeholder).toMatch(/^ghp_hmtc[a-z0-9]{32}$/);
    expect(placeholderFor('GITHUB_TOKEN', value.length, 'key', 'ghp_')).toBe(github.placeholder);
    expect(placeholderFor('GITHUB_TOKEN', value.length, 'other key', 'ghp_')).not.toBe(github.placeholder);
  });

  it('has at least 30 characters, also for a short value or a long prefix', () => {
    expect(placeholderFor('A', 8, 'key')).toHaveLength(30);
    expect(placeholderFor('A', 8, 'key', 'github_pat_0123456789_0123456789')).toHaveLength(52);
  });
});

describe('inject', () => {
  it('replaces the placeholder in named headers and names what was used', () => {
    const injection = send({ Authorization: `Bearer ${github.placeholder}`, 'private-token': [github.placeholder, 'x'] });
    expect(injection).toEqual({
      request: { headers: ['Authorization', `Bearer ${value}`, 'private-token', value, 'private-token', 'x'], path: '/' },
      used: ['GITHUB_TOKEN'],
    });
  });

  it('replaces the placeholder inside Basic', () => {
    expect(send({ authorization: basic(`x-access-token:${github.placeholder}`) })).toMatchObject({
      request: { headers: ['authorization', `Basic ${Buffer.from(`x-access-token:${value}`).toString('base64')}`] },
    });
  });

  it.each([
    ['another header', { 'user-agent': github.placeholder }, '/'],
    ['the path', {}, `/bot${github.placeholder}/x`],
    ['the query', {}, `/?t=${github.placeholder}`],
  ])('never replaces it in %s', (_, headers, path) => {
    const injection = send(headers, path);
    expect(injection).toEqual({ request: { headers: listOf(headers), path }, used: [] });
  });

  it('replaces it in query and path where that is configured, encoded', () => {
    const here = [{ ...github, query: true, path: true, value: 'a/b c&d' }];
    expect(send({}, `/bot${github.placeholder}/x?t=${github.placeholder}&u=?`, here)).toMatchObject({
      request: { path: '/bota%2Fb%20c%26d/x?t=a%2Fb%20c%26d&u=?' },
    });
  });

  it.each([
    ['a header', { authorization: `Bearer ${other.placeholder}` }, '/'],
    ['Basic', { authorization: `Basic ${Buffer.from(`:${other.placeholder}`).toString('base64')}` }, '/'],
    ['any other header', { 'x-note': [other.placeholder] }, '/'],
    ['the path', {}, `/${other.placeholder}`],
  ])('refuses the placeholder of a secret of another host in %s', (_, headers, path) => {
    expect(send(headers as Record<string, string>, path)).toEqual({ refused: 'OTHER is not for this host' });
  });

  it('takes a dollar in a value for what it is', () => {
    const here = [{ ...github, value: '$&$1$$' }];
    expect(send({ authorization: github.placeholder }, '/', here)).toMatchObject({ request: { headers: ['authorization', '$&$1$$'] } });
  });

  it.each<[string, Record<string, string>, string]>([
    ['a header', { authorization: 'Bearer attacker' }, '/'],
    ['Basic', { authorization: `Basic ${Buffer.from('attacker:password').toString('base64')}` }, '/'],
    ['one of two headers', { authorization: `Bearer ${github.placeholder}`, cookie: 'session=attacker' }, '/'],
    ['the query', {}, '/?private_token=attacker'],
    ['the query after a semicolon', {}, '/?a=1;access_token=attacker'],
    ['a signed query', {}, '/?X-Amz-Signature=attacker'],
    ['a short signature', {}, '/?sig=attacker'],
    ['a query beside the placeholder', {}, `/?access_token=attacker${github.placeholder}`],
    ['a name that is encoded', {}, '/?access%5Ftoken=attacker'],
    ['a cookie beside the placeholder', { cookie: `session=attacker; x=${github.placeholder}` }, '/'],
    ['a cookie with the placeholder in it', { cookie: `session=attacker${github.placeholder}` }, '/'],
    ['a header with the placeholder in it', { authorization: `Bearer attacker ${github.placeholder}` }, '/'],
    ['the password of Basic, with the placeholder in it', { authorization: basic(`attacker:pw${github.placeholder}`) }, '/'],
    ['the password of Basic, beside the placeholder', { authorization: basic(`${github.placeholder}:attacker`) }, '/'],
    ['the user of Basic beside the placeholder', { authorization: basic(`sk_live_attacker0123456789:${github.placeholder}`) }, '/'],
    ['a header before the placeholder', { 'x-api-key': `attacker ${github.placeholder}` }, '/'],
    ['the protocol of a WebSocket', { 'sec-websocket-protocol': `realtime, insecure-api-key.${'a'.repeat(30)}` }, '/'],
    ['a parameter of the path', {}, '/me;jsessionid=attacker'],
    ['a second query', {}, '/?a=1?access_token=attacker'],
    ['a scheme that is none', { authorization: `attacker-token ${github.placeholder}` }, '/'],
    ['a protocol after one that names a token', { 'sec-websocket-protocol': `token, short-attacker-key, ${github.placeholder}` }, '/'],
    ['the last part of a protocol', { 'sec-websocket-protocol': `base64url.bearer.authorization.k8s.io.${'a'.repeat(20)}` }, '/'],
    ...[
      'SG.attackerattackerattacker.x',
      'freshdeskkey12345678',
      'glpat-abcdefghijklmno.01.abcdefg',
      'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig',
    ].map((user): [string, Record<string, string>, string] => [
      `the user ${user} of Basic`,
      { authorization: basic(`${user}:${github.placeholder}`) },
      '/',
    ]),
    ['Basic that cannot be read', { authorization: `Basic ${github.placeholder}:attacker` }, '/'],
    ...[
      'X-Session-Token',
      'X-Access-Token',
      'X-GitHub-Token',
      'X-Amz-Security-Token',
      'Authentication',
      'X-Signature',
      'Sec-Token',
      'Sec-Api-Key',
    ].map((name): [string, Record<string, string>, string] => [`the header ${name}`, { [name]: 'attacker' }, '/']),
  ])('refuses another credential in %s at a host that is exclusive', (_, headers, path) => {
    const here = [{ ...github, exclusive: true }];
    expect(send(headers, path, here)).toMatchObject({ refused: expect.stringContaining('another credential') });
  });

  it('lets requests without a credential and with its own through at a host that is exclusive', () => {
    const here = [{ ...github, exclusive: true }];
    expect(send({ accept: '*/*' }, '/?page=2', here)).toMatchObject({ used: [] });
    expect(send({ authorization: `token ${github.placeholder}` }, '/', here)).toMatchObject({ used: ['GITHUB_TOKEN'] });
    for (const text of [`x-access-token:${github.placeholder}`, `${github.placeholder}:`])
      expect(send({ authorization: basic(text) }, '/', here), text).toMatchObject({ used: ['GITHUB_TOKEN'] });
    expect(send({ cookie: `a=${github.placeholder}; b=${github.placeholder};` }, '/', here)).not.toHaveProperty('refused');
  });

  it('takes names that only sound like a credential for none at a host that is exclusive', () => {
    const here = [{ ...github, exclusive: true }];
    const headers = { 'sec-websocket-key': 'x', 'idempotency-key': 'x', 'sec-websocket-protocol': 'graphql-transport-ws, mqtt.v1' };
    expect(send(headers, '/commits?author=ada&keyword=x&passenger=1', here)).toMatchObject({ used: [] });
    expect(send({ authorization: basic(`ada@example.com:${github.placeholder}`) }, '/', here)).toMatchObject({ used: ['GITHUB_TOKEN'] });
    expect(send({ 'mcp-session-id': 'x', 'x-csrf-token': 'x', 'sec-fetch-site': 'none' }, '/', here)).toMatchObject({ used: [] });
    const query = 'pageToken=x&page_token=x&next_token=x&nextPageToken=x&max_tokens=5&sort_key=x&partition-key=x';
    expect(send({}, `/?${query}`, here)).toMatchObject({ used: [] });
  });

  it('takes what stands before a placeholder for its scheme where it is a known one at a host that is exclusive', () => {
    const here = [{ ...github, headers: ['authorization', 'x-api-key'], exclusive: true }];
    for (const scheme of ['Bearer', 'token', 'Bot', 'ApiKey', 'GenieKey', 'Token token='])
      expect(send({ authorization: `${scheme} ${github.placeholder}`.replace('= ', '=') }, '/', here), scheme).toMatchObject({
        used: ['GITHUB_TOKEN'],
      });
    expect(send({ 'x-api-key': `Bearer ${github.placeholder}` }, '/', here)).toMatchObject({ used: ['GITHUB_TOKEN'] });
    expect(
      send({ 'sec-websocket-protocol': `realtime, openai-insecure-api-key.${github.placeholder}, openai-beta.realtime-v1` }, '/', here),
    ).not.toHaveProperty('refused');
    for (const user of ['x-access-token', 'oauth2accesstoken', '__token__', 'gitlab-ci-token'])
      expect(send({ authorization: basic(`${user}:${github.placeholder}`) }, '/', here), user).toMatchObject({ used: ['GITHUB_TOKEN'] });
  });

  it('refuses a path without the placeholder at a host that is exclusive and has it in the path', () => {
    const here = [{ ...github, exclusive: true, path: true }];
    expect(send({}, '/botATTACKER/sendMessage', here)).toMatchObject({ refused: expect.stringContaining('the path') });
    for (const path of ['?x=', '#', '/../x/', ';', '/%2e%2E/', '/x%3f', '/x%23', '%00', '%3B', '%0a', '%7f'])
      expect(send({}, `/botATTACKER/sendMessage${path}${github.placeholder}`, here), path).toHaveProperty('refused');
    for (const step of ['/../', '%2f..%2f', '/..%2F', '%5c..%5C', '/%252e%252e/'])
      expect(send({}, `/bot${github.placeholder}${step}botATTACKER/sendMessage`, here), step).toHaveProperty('refused');
    expect(send({}, `/bot${github.placeholder}/sendMessage`, here)).toMatchObject({ request: { path: `/bot${value}/sendMessage` } });
  });
});

it('a secret is for its exact host and port', () => {
  expect(isFor(github, { host: 'git.test', port: 443 })).toBe(true);
  expect(isFor(github, { host: 'git.test', port: 8443 })).toBe(false);
  expect(isFor(github, { host: 'a.git.test', port: 443 })).toBe(false);
});
