import { each, type Program, type Programs } from './program.ts';

const help = '--help --version';

/** Options with which it names the files itself. */
function downloadsWith(options: string): Program['brings'] & {} {
  return Object.fromEntries(options.split(' ').map((option) => [option, 'downloaded' as const]));
}

/** Fetching with a plain request. What sends, what reads settings and what sets the method is asked about. */
const fetching: Programs = {
  // Left out are `-K`, `-n`, `-x`, `--connect-to`, `--resolve` and `-J`.
  curl: {
    options: `--help -h --version -V -sSfLIiOkvgN#4601RZaq -XGET:text? -XHEAD:text? -XOPTIONS:text? -o:write --output:write --output-dir:into
      --create-dirs -H:sends --header:sends -w:sends --write-out:sends -A:sends --user-agent:sends -e:sends --referer:sends -b:read --cookie:read -c:write
      --cookie-jar:write -u:sends --user:sends -m:text --max-time:text --connect-timeout:text --retry:text --retry-delay:text
      --retry-max-time:text --retry-all-errors --retry-connrefused -C:text --continue-at:text -r:sends --range:sends -z:text
      --time-cond:text -y:text -Y:text --speed-limit:text --speed-time:text --limit-rate:text --max-redirs:text --max-filesize:text
      --keepalive-time:text -D:write --dump-header:write --stderr:write --trace:write --trace-ascii:write --trace-time --cacert:read
      --capath:read --ciphers:text --tls-max:text --interface:text --oauth2-bearer:url --url:url --parallel-max:text
      --silent --show-error --fail --fail-with-body --fail-early --location --head --include --remote-name --remote-name-all --insecure
      --verbose --globoff --no-buffer --progress-bar --no-progress-meter --compressed --compressed-ssh --http1.0 --http1.1 --http2
      --http2-prior-knowledge --http3 --ipv4 --ipv6 --tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 --ssl-reqd --raw --tr-encoding
      --path-as-is --no-keepalive --tcp-nodelay --parallel --basic --digest --remote-time --no-sessionid --get -G --styled-output
      --no-styled-output --clobber --no-clobber --skip-existing --junk-session-cookies -j --disable -d:text!network/upload
      --data:text!network/upload --data-raw:text!network/upload --data-binary:text!network/upload --data-urlencode:text!network/upload
      --data-ascii:text!network/upload --json:text!network/upload --url-query:url -F:text!network/send-file --form:text!network/send-file
      --form-string:text!network/upload -T:read!network/send-file --upload-file:read!network/send-file -X:text!network/upload
      --request:text!network/upload`,
    operands: 'url*',
    downloads: true,
    brings: downloadsWith('-J --remote-header-name -K --config'),
  },
  wget: {
    options: `--help -h --version -V -qvncNSrkKpELHx46dmbF -O:write --output-document:write -P:into --directory-prefix:into
      -o:write --output-file:write -a:write --append-output:write -t:text --tries:text -T:text --timeout:text --connect-timeout:text
      --read-timeout:text -w:text --wait:text --waitretry:text --random-wait -l:text --level:text -A:url --accept:text -R:text
      --reject:text --accept-regex:text --reject-regex:text -D:text --domains:text --exclude-domains:text -I:text
      --include-directories:text -X:text --exclude-directories:text -U:url --user-agent:url --header:sends --referer:url
      --limit-rate:text -Q:text --quota:text --cut-dirs:text --max-redirect:text --restrict-file-names:text
      --save-cookies:write --ca-certificate:read --user:url --password:url --progress:text --retry-on-http-error:text --quiet --verbose
      --no-verbose --show-progress --continue --no-clobber --timestamping --server-response --spider --recursive --no-parent
      --no-directories --no-host-directories --convert-links --page-requisites --adjust-extension --html-extension --mirror --span-hosts
      --no-check-certificate --inet4-only --inet6-only --no-cache --no-cookies --no-hsts --no-config --no-proxy --keep-session-cookies
      --compression:text --retry-connrefused --https-only --force-directories --backups:text? --no-netrc --relative
      --post-data:text!network/upload --post-file:read!network/send-file --body-data:text!network/upload
      --body-file:read!network/send-file --method:text!network/upload`,
    operands: 'url*',
    downloads: true,
    brings: downloadsWith('-i --input-file -r --recursive -m --mirror -p --page-requisites -x --force-directories --content-disposition'),
  },
  // Its standard input is sent when it is no terminal, unless it is told not to.
  ...each('http https httpie xh', {
    options: `${help} -hbvIqFdjS --headers --body --verbose --ignore-stdin --quiet --follow --download --json --stream --check-status
      --all --offline -p:text --print:text --pretty:text -s:text --style:text --timeout:text --verify:text --max-redirects:text -o:write
      --output:write --format-options:text --sorted --unsorted`,
    operands: 'url',
    operandsWith: { '--version': '', '--help': '' },
    asksWithout: ['-I --ignore-stdin --offline --version --help', 'network/upload'],
    downloads: true,
    subcommands: {
      'GET|HEAD|OPTIONS': {
        options: `-hbvIqFdjS --headers --body --verbose --ignore-stdin --quiet --follow --download --json --stream --check-status -p:text
          --print:text --pretty:text -s:text --style:text --timeout:text --verify:text -o:write --output:write`,
        operands: 'url',
        asksWithout: ['-I --ignore-stdin', 'network/upload'],
        downloads: true,
      },
      'POST|PUT|PATCH|DELETE': { operands: 'text*', anyOption: true, asks: 'network/upload' },
    },
  }),
  aria2c: {
    options: `${help} -hvcqZ -o:write --out:write -d:into --dir:into -x:text --max-connection-per-server:text -s:text
      --split:text -j:text --max-concurrent-downloads:text -k:text --min-split-size:text --continue:text? --quiet:text? --header:sends
      -U:url --user-agent:url -t:text --timeout:text -m:text --max-tries:text --check-certificate:text --allow-overwrite:text
      --auto-file-renaming:text --summary-interval:text --console-log-level:text --file-allocation:text --checksum:text`,
    operands: 'url*',
    downloads: true,
  },
  // They also show files of this machine, which an address does not tell from a page.
  ...each('lynx w3m links elinks', {
    options: '-version -help --version --help',
    asksWithout: ['-version -help --version --help', 'network/remote'],
    words: true,
  }),
  ...each('yt-dlp youtube-dl', { options: `${help} -h -U`, operands: 'url*', asksWithout: ['--help --version -h', 'network/remote'] }),
};

/**
 * Looking at networks: names, ways and open ports. Words that are not known would tell others what they are.
 * Security: a name that is looked up reaches the server of its domain, and may itself be what is told.
 */
const looking: Programs = {
  ...each('ping ping6', {
    options: `${help} -46aAbBdDhLnOqrRUvV -c:text -i:text -I:text -l:text -m:text -M:text -Q:text -s:text -S:text -t:text -T:text -w:text
      -W:text -G:text`,
    operands: 'url',
  }),
  ...each('traceroute traceroute6 tracepath mtr tcptraceroute', {
    options: `${help} -46dFITUnAerbwxyzjCv -c:text -f:text -g:text -i:text -m:text -M:text -N:text -p:text -q:text -s:text -t:text -w:text
      -l:text -P:text --report --report-wide --report-cycles:text --no-dns --json --csv --tcp --udp --port:text`,
    operands: 'url text?',
  }),
  ...each('dig drill kdig delv doggo dog', {
    options: '-46umrvh -t:text -x:text -p:text -c:text -q:url -b:text',
    operands: 'url*',
    operandsWith: { '-h': '', '-v': '' },
    asksWithout: ['-h -v', 'network/remote'],
  }),
  nslookup: {
    options: '-type:text -query:text -debug -port:text -timeout:text -retry:text -version -norecurse -vc -class:text',
    operands: 'url url?',
    operandsWith: { '-version': '' },
    asksWithout: ['-version', 'network/remote'],
    words: true,
  },
  host: {
    options: '-46aCdilrsTvVUw -c:text -m:text -N:text -R:text -t:text -W:text -p:text',
    operands: 'url url?',
    operandsWith: { '-V': '' },
    asksWithout: ['-V', 'network/remote'],
  },
  whois: {
    options: `${help} -HaBbcdGKlLMmQRrx -h:text!network/remote -p:text!network/remote -T:text -i:text -s:text --verbose --no-recursion`,
    operands: 'url',
  },
  resolvectl: {
    options: '-46 --no-pager -i:text -p:text -t:text -c:text --legend:text',
    subcommands: {
      'status|statistics|dns|domain': { options: '-46 --no-pager -i:text -p:text -t:text --legend:text', operands: 'url*' },
      'query|service': { options: '-46 --no-pager -i:text -p:text -t:text --legend:text', operands: 'url*', asks: 'network/remote' },
      'flush-caches|reset-statistics|revert|dnssec|llmnr|mdns': { operands: 'text*', asks: 'network/firewall' },
    },
  },
  // `-K` closes connections of others.
  ss: {
    options: `${help} -hVnrlaoemptuiswxdSb0946TEZzHOQM -A:text --query:text --socket:text -f:text --family:text -F:read --filter:read
      --numeric --resolve --listening --all --options --extended --memory --processes --threads --info --summary --tcp --udp --unix --raw
      --dccp --sctp --ipv4 --ipv6 --no-header --oneline --tos --events --context`,
    operands: 'text*',
  },
  netstat: { operands: 'text*', anyOption: true },
  ...each('ifconfig iwconfig', { options: '-a -s -v -l -u -d', operands: 'text?' }),
  route: {
    options: '-nveFC46 -A:text',
    subcommands: { 'add|del|delete|change|flush': { operands: 'text*', anyOption: true, asks: 'network/firewall' } },
  },
  arp: {
    options: '-aenvNH -i:text -d:text!network/firewall -s:text!network/firewall -f!network/firewall --all --verbose --numeric',
    operands: 'text?',
  },
  ip: {
    options: `-4 -6 -0 -B -br -brief -c:text? -color:text? -j -json -p -pretty -s -stats -statistics -d -details -o -oneline -r -resolve
      -h -human -V -Version -f:text -family:text -t -timestamp -ts -help -N -Numeric -a -all`,
    words: true,
    subcommands: {
      'a|addr|address|link|l|route|r|ro|rule|ru|neigh|n|neighbor|neighbour|maddr|mroute|tunnel|tuntap|vrf|token|ntable|nexthop|netconf|netns|tcp_metrics':
        {
          words: true,
          subcommands: {
            'show|sh|s|list|ls|lst|l|get|help|list-id|identify|pids': { operands: 'text*' },
            'add|a|del|delete|d|set|change|replace|append|prepend|flush|f|restore|exec|attach|up|down': {
              operands: 'text*',
              anyOption: true,
              asks: 'network/firewall',
            },
          },
        },
      'monitor|mon|m': { operands: 'text*' },
    },
  },
  networksetup: {
    options: '-listallnetworkservices -listallhardwareports -getinfo:text -getdnsservers:text -getairportnetwork:text',
    words: true,
  },
  iptables: {
    options: `${help} -LSnvxV46 -t:text --table:text --list --list-rules --numeric --verbose --exact --line-numbers`,
    operands: 'text?',
    asksWithout: ['-L -S --list --list-rules --help --version -V', 'network/firewall'],
  },
  ip6tables: {
    options: `${help} -LSnvxV46 -t:text --table:text --list --list-rules --numeric --verbose --exact --line-numbers`,
    operands: 'text?',
    asksWithout: ['-L -S --list --list-rules --help --version -V', 'network/firewall'],
  },
  nft: {
    options: `${help} -anjsyv`,
    subcommands: {
      list: { operands: 'text*' },
      'add|delete|insert|replace|flush|create|rename|reset|destroy': { operands: 'text*', asks: 'network/firewall' },
    },
  },
  ufw: {
    options: `${help} --force --dry-run`,
    subcommands: {
      'status|version|show': { operands: 'text*' },
      'enable|disable|reset|reload|default|allow|deny|reject|limit|delete|insert|prepend|route|logging|app': {
        operands: 'text*',
        anyOption: true,
        asks: 'network/firewall',
      },
    },
  },
  'firewall-cmd': {
    options: `${help} --state --list-all --list-all-zones --list-ports --list-services --get-zones --get-default-zone --get-active-zones
      --get-services --zone:text --permanent`,
    operands: 'text*',
    asksWithout: [
      '--state --list-all --list-all-zones --list-ports --list-services --get-zones --get-default-zone --get-active-zones --get-services --help --version',
      'network/firewall',
    ],
  },
  nmcli: {
    options: `${help} -tpaw -f:text --fields:text -g:text --get-values:text -m:text --mode:text -c:text --colors:text --terse --pretty
      --overview`,
    subcommands: {
      'general|g|gen|device|d|dev|connection|c|con|networking|n|net|radio|r': {
        subcommands: {
          'status|show|list|permissions|connectivity': { options: '-f:text --active', operands: 'text*' },
          'up|down|add|modify|mod|edit|delete|del|reload|load|import|clone|connect|disconnect|reapply|set|on|off|hostname|logging|wifi|wwan|all':
            {
              operands: 'text*',
              anyOption: true,
              asks: 'network/firewall',
            },
        },
      },
    },
  },
  ...each(
    'iptables-restore ip6tables-restore iptables-save tc brctl bridge dhclient ifup ifdown iw wpa_cli wg wg-quick openvpn tailscale',
    {
      options: help,
      operands: 'text*',
      anyOption: true,
      asks: 'network/firewall',
    },
  ),
};

/** Connections that carry anything either way. */
const connecting: Programs = {
  // With `-z` nothing is sent.
  ...each('nc ncat netcat', {
    options: `${help} -zvn46uh -w:text -i:text -e:text!network/remote-shell -c:text!network/remote-shell --exec:text!network/remote-shell
      --sh-exec:text!network/remote-shell --lua-exec:text!network/remote-shell -l!network/expose --listen!network/expose -k!network/expose
      -p:text!network/expose -L!network/expose`,
    operands: 'text text*',
    asksWithout: ['-z --help --version -h', 'network/send-file'],
  }),
  ...each('socat telnet rlogin rsh rexec mosh', { operands: 'text*', anyOption: true, asks: 'network/remote-shell' }),
  ssh: {
    options: `-46AaCfGgKkMNnqsTtVvXxYy -B:text -b:text -c:text -E:write -e:text -F:script -I:script -i:list -J:text -l:text -m:text
      -O:text -o:text -p:text -P:text -Q:text -S:text -W:text -w:text -L:text!network/expose -R:text!network/expose -D:text!network/expose`,
    operands: 'text shell text*',
    operandsWith: { '-V': '', '-Q': '' },
    asksWithout: ['-V -Q', 'network/remote-shell'],
    optionsFirst: true,
  },
  ...each('scp sftp ftp lftp ncftp tftp rcp rclone croc wormhole magic-wormhole transfer', {
    options: '-346ABCOpqRrsTv -c:text -D:text -F:text -i:list -J:text -l:text -o:text -P:text -S:text -X:text -b:text',
    operands: 'text*',
    anyOption: true,
    asks: 'network/send-file',
  }),
  'ssh-copy-id': { operands: 'text*', anyOption: true, asks: 'persistence/remote-login' },
  ...each('ngrok cloudflared localtunnel lt bore frpc chisel serveo autossh sshuttle', {
    options: help,
    operands: 'text*',
    operandsWith: { '--version': '', '--help': '' },
    asksWithout: ['--version --help', 'network/expose'],
  }),
  ...each('nmap masscan tcpdump tshark wireshark dumpcap ngrep zmap nikto sqlmap hydra', {
    options: help,
    operands: 'text*',
    operandsWith: { '--version': '', '--help': '' },
    asksWithout: ['--version --help', 'network/remote'],
  }),
  ...each('mail mailx sendmail msmtp mutt swaks', { operands: 'text*', anyOption: true, asks: 'network/upload' }),
};

export const networkPrograms: Programs = { ...fetching, ...looking, ...connecting };
