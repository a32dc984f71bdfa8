/** The numbers of a system call on [x86_64, aarch64]; undefined where the architecture does not have it. */
type Numbers = readonly [number, number | undefined];

/** Refused with EPERM for all arguments. */
export const refusedCalls: Readonly<Record<string, Numbers>> = {
  // Mounting: the view of the file system is fixed before the first command runs.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  move_mount: [429, 429],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],

  // New namespaces give back capabilities inside them, and with them most of the kernel's attack surface.
  unshare: [272, 97],
  setns: [308, 268],

  // Reaching into other processes: for debuggers alone, and a way into kernel bugs.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],

  // Programmable or rarely audited corners of the kernel with a long record of privilege escalation.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  userfaultfd: [323, 282],
  move_pages: [279, 239],
  migrate_pages: [256, 238],

  // Key rings belong to the host user, not to a namespace.
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],

  // Opening by handle goes around directory permissions and mounts.
  open_by_handle_at: [304, 265],
  name_to_handle_at: [303, 264],
  fanotify_init: [300, 262],
  lookup_dcookie: [212, 18],

  // Other kernels, modules, power, swap: the machine as a whole.
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  create_module: [174, undefined],
  get_kernel_syms: [177, undefined],
  query_module: [178, undefined],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  iopl: [172, undefined],
  ioperm: [173, undefined],

  // Accounting, quotas and the kernel log are shared by all users of the host.
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],

  // There is one clock.
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  adjtimex: [159, 171],
  clock_adjtime: [305, 266],

  // Obsolete calls no program of today needs.
  nfsservctl: [180, 42],
  uselib: [134, undefined],
  _sysctl: [156, undefined],
  vhangup: [153, 58],
};

/** Calls the filter judges by their arguments. */
export const judgedCalls = {
  clone: [56, 220],
  clone3: [435, 435],
  personality: [135, 92],
  socket: [41, 198],
  socketpair: [53, 199],
  ioctl: [16, 29],
} as const satisfies Record<string, Numbers>;

/** The newest call these tables know (file_setattr of Linux 6.17). Calls since 424 have the same number on every architecture. */
export const newestCall = 469;
