import { describe, expect, it } from 'vitest';
import { locate, mountAt, parseMounts, placesOf } from '../../src/proof/mount-table.ts';
import { localAddresses, metadataRoutes, parseRoutes, reaches } from '../../src/proof/routes.ts';

describe('a table of mounts', () => {
  const host = parseMounts([
    '22 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
    '23 22 0:21 / /proc rw - proc proc rw',
    '24 22 8:1 /subvolume /home rw shared:2 master:1 - btrfs /dev/sda rw',
    '25 22 0:30 / /with\\040space rw - tmpfs tmpfs rw',
    'nonsense',
    '',
  ]);

  it('finds the mount of a path', () => {
    expect(host).toHaveLength(4);
    expect(mountAt(host, '/with space/file')?.device).toBe('0:30');
    expect(mountAt(host, '/homeless')?.device).toBe('254:0');
    expect(locate(host, '/home/me/.hermetic')).toEqual({ device: '8:1', path: '/subvolume/me/.hermetic' });
    expect(locate(host, '/tmp')).toEqual({ device: '254:0', path: '/tmp' });
    expect(locate(host, '/')).toEqual({ device: '254:0', path: '/' });
  });

  it.each([
    ['the directory itself', '254:0 /tmp /data', ['/data/canary']],
    ['a directory above it', '254:0 / /host', ['/host/tmp/canary']],
    ['the file alone', '254:0 /tmp/canary /file', ['/file']],
    ['a directory beside it', '254:0 /tmp/other /data', []],
    ['one whose name begins alike', '254:0 /tm /data', []],
    ['another disk', '254:1 /tmp /data', []],
  ])('finds where a sandbox sees a file when it mounts %s', (_case, mount, places) => {
    const [device, root, target] = mount.split(' ');
    const sandbox = parseMounts(['1 1 0:90 / / rw - overlay overlay rw', `2 1 ${device} ${root} ${target} ro - ext4 /dev/vda rw`]);
    expect(placesOf({ device: '254:0', path: '/tmp/canary' }, sandbox)).toEqual(places);
  });

  it('excludes files that another mount hides', () => {
    const sandbox = parseMounts(['1 1 254:0 / / ro - ext4 /dev/vda rw', '2 1 0:91 / /tmp rw - tmpfs tmpfs rw']);
    expect(placesOf({ device: '254:0', path: '/tmp/canary' }, sandbox)).toEqual([]);
    expect(placesOf({ device: '254:0', path: '/etc/shadow' }, sandbox)).toEqual(['/etc/shadow']);
  });

  it('treats a mount as writable only when its file system is, too', () => {
    const writable = (options: string, superOptions: string) =>
      parseMounts([`1 1 8:1 / /x ${options} - ext4 /dev/sda ${superOptions}`])[0]?.writable;
    expect(writable('rw,nosuid', 'rw')).toBe(true);
    expect(writable('ro,nosuid', 'rw')).toBe(false);
    expect(writable('rw', 'ro')).toBe(false);
  });
});

describe('a table of routes', () => {
  const header = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT';
  const bridge = 'eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0';
  const gateway = 'eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0';

  it('tells which addresses the routes reach', () => {
    const routes = parseRoutes([header, bridge, ''], []);
    expect(routes.v4).toHaveLength(1);
    expect(reaches(routes, '172.17.0.1')).toBe(true);
    expect(reaches(routes, '172.18.0.1')).toBe(false);
    expect(metadataRoutes(routes)).toEqual([]);
  });

  it('treats a default route as a way to everything', () => {
    const routes = parseRoutes([header, bridge, gateway], []);
    expect(routes.v4.map((route) => route.gateway)).toEqual([undefined, '172.17.0.1']);
    expect(metadataRoutes(routes)).toEqual(['169.254.169.254']);
    expect(metadataRoutes(parseRoutes(['eth0 0000FEA9 00000000 0001 0 0 0 0000FFFF 0 0 0'], []))).toEqual(['169.254.169.254']);
  });

  it('ignores a route that is down or rejects', () => {
    expect(metadataRoutes(parseRoutes(['eth0 00000000 010011AC 0002 0 0 0 00000000 0 0 0'], []))).toEqual([]);
    expect(metadataRoutes(parseRoutes(['eth0 00000000 00000000 0201 0 0 0 00000000 0 0 0'], []))).toEqual([]);
  });

  it('reads IPv6 routes, too', () => {
    const none = '0'.repeat(32);
    const row = (network: string, bits: string, flags: string, name: string) =>
      `${network} ${bits} ${none} 00 ${none} 00000400 00000001 00000000 ${flags} ${name}`;
    const found = (...rows: string[]) => metadataRoutes(parseRoutes([], rows));
    expect(found(row(none, '00', '00200200', 'lo'))).toEqual([]);
    expect(found(row(none, '00', '00000003', 'eth0'))).toEqual(['fd00:ec2::254', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe']);
    expect(found(row('fd000ec2000000000000000000000000', '20', '00000001', 'eth0'))).toEqual(['fd00:ec2::254']);
    expect(found(row('fd000ec2000000000000000000000254', '80', '00000001', 'eth0'))).toEqual(['fd00:ec2::254']);
    expect(found(row('fd001234000000000000000000000000', '20', '00000001', 'eth0'))).toEqual([]);
  });

  it('finds the own addresses of a machine', () => {
    const trie = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 172.17.0.0
        /16 link UNICAST
     |-- 172.17.0.3
        /32 host LOCAL
     |-- 127.0.0.1
        /32 host LOCAL
     |-- 172.17.255.255
        /32 link BROADCAST`;
    expect(localAddresses(trie)).toEqual(['172.17.0.3']);
  });
});
