/** One line of `/proc/<pid>/mountinfo`. */
export interface MountEntry {
  device: string;
  /** The directory of the file system that is mounted. */
  root: string;
  target: string;
  writable: boolean;
  type: string;
}

/** Where a file lies, independent of its path in any sandbox, as the kernel names it. */
export interface Location {
  device: string;
  path: string;
}

export function parseMounts(lines: readonly string[]): MountEntry[] {
  return lines.flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , device, root, target, options] = before.split(' ');
    const [type, , superOptions] = after.split(' ');
    if (device === undefined || root === undefined || target === undefined || options === undefined || type === undefined) return [];
    const writable = options.split(',').includes('rw') && (superOptions ?? '').split(',').includes('rw');
    return [{ device, root: unescaped(root), target: unescaped(target), writable, type }];
  });
}

function unescaped(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

export function isInside(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`);
}

/** The mount that decides what is seen at a path: the deepest, and of two at one place the later. */
export function mountAt(table: readonly MountEntry[], path: string): MountEntry | undefined {
  let found: MountEntry | undefined;
  for (const entry of table) {
    if (isInside(path, entry.target) && entry.target.length >= (found?.target.length ?? 0)) found = entry;
  }
  return found;
}

/** `path` must be without symbolic links. */
export function locate(table: readonly MountEntry[], path: string): Location | undefined {
  const entry = mountAt(table, path);
  return entry?.root.startsWith('/') ? { device: entry.device, path: join(entry.root, path.slice(entry.target.length)) } : undefined;
}

/** The paths at which a file of the host is seen in a sandbox with this table. Only for tables of the same kernel. */
export function placesOf(location: Location, table: readonly MountEntry[]): string[] {
  return table
    .filter((entry) => entry.device === location.device && entry.root.startsWith('/') && isInside(location.path, entry.root))
    .map((entry) => ({ entry, place: join(entry.target, location.path.slice(entry.root === '/' ? 0 : entry.root.length)) }))
    .filter(({ entry, place }) => mountAt(table, place) === entry)
    .map(({ place }) => place);
}

function join(directory: string, rest: string): string {
  const joined = `${directory.replace(/\/$/, '')}/${rest.replace(/^\//, '')}`;
  return joined.length > 1 ? joined.replace(/\/$/, '') : joined;
}
