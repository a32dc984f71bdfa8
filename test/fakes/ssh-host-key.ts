import ssh2 from 'ssh2';

/** A key of a server. One of two hundred that ssh2 makes is one that it cannot read. */
export function newHostKey(): { private: string; public: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair;
  }
}
