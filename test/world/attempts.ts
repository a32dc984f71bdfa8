/** One try of `attacker.py` to get out, with the arguments of its function. */
export type Attempt =
  | { try: 'tcp'; host: string; port: number; send?: string }
  | { try: 'udp'; host: string; port: number; send?: string }
  | { try: 'icmp'; host: string; raw: boolean }
  | { try: 'abstract'; name: string }
  | { try: 'connect'; target: string; then?: string }
  | { try: 'pieces'; target: string; pieces: readonly string[]; direct?: boolean }
  | { try: 'raw'; send: string }
  | { try: 'socks'; host: string; port: number; command?: number; kind?: 1 | 3 | 4 }
  | { try: 'tls'; target: string; name: string | null; direct?: boolean }
  | { try: 'query'; name: string; server?: string; kind?: number }
  | { try: 'crowd'; count: number; most: number; send?: string; half?: boolean }
  | { try: 'names'; count: number; below: string };

/** What an attempt may say of itself. */
export interface AttemptResult {
  connected?: boolean;
  sent?: boolean;
  status?: number;
  text?: string;
  /** What came back after CONNECT was granted. */
  then?: string;
  /** The reply of SOCKS; 0 is granted. */
  reply?: number;
  /** Of a name server. */
  code?: number;
  answers?: number;
  address?: string | null;
  open?: number;
  got?: number;
  error?: string;
}
