import type { CommandRule } from './command-rule.ts';

/** What lets others in, or changes what may come and go. */
export const networkCommands: readonly CommandRule[] = [
  {
    rule: 'network/firewall',
    program: /^(?:iptables|ip6tables|ebtables|arptables|iptables-legacy|iptables-nft)$/,
    any: /./,
    unless: /^(?:-t \S+ )?(?:-[LSnvVx]+|--list\S*)(?: [\w-]+)*(?: (?:-[nvx]+|--line-numbers|-t \S+))*$/,
  },
  {
    rule: 'network/firewall',
    program:
      /^(?:iptables-restore|ip6tables-restore|ipset|tc|wg|wg-quick|openvpn|brctl|arpspoof|ettercap|nmcli|networksetup|netplan|ifup|ifdown|wpa_cli|iw|conntrack|ipvsadm|vtysh|dhclient)$/,
    any: /./,
    unless:
      /^(?:list|-L|show.*|--version|status|get|-h|--help|dev status|d(?:ev(?:ice)?)?(?: (?:wifi|show|status).*)?|g(?:eneral)?(?: status)?|c(?:on(?:nection)?)?(?: show.*)?|qdisc show.*|-list\S*|-get\S*.*|dev)$/,
  },
  { rule: 'network/firewall', program: /^nft$/, words: /^(?:add|delete|flush|insert|replace|create|destroy|reset|-f)$/ },
  { rule: 'network/firewall', program: /^nft$/, any: /^-f$/ },
  { rule: 'network/firewall', program: /^ufw$/, unless: /^(?:status.*|show.*|version|app (?:list|info).*|--dry-run.*|--version)$/ },
  {
    rule: 'network/firewall',
    program: /^firewall-cmd$/,
    any: /^--(?:add|remove|set|reload|complete-reload|panic|change|new|delete|permanent|runtime-to|load|reset)/,
  },
  { rule: 'network/firewall', program: /^pfctl$/, any: /^-\w*[dFfeE]/ },
  {
    rule: 'network/firewall',
    program: /^ip$/,
    text: /\b(?:link|addr|address|route|rule|neigh|netns|tunnel|xfrm|a|r|l)\b.* ?\b(?:add|del|delete|set|flush|change|replace|append|down|exec)\b/,
    unless: /\bget\b/,
  },
  {
    rule: 'network/firewall',
    program: /^(?:ifconfig|route|arp|ethtool|iwconfig|resolvectl|systemd-resolve)$/,
    any: /^(?:up|down|add|del|delete|flush|netmask|hw|mtu|-s|--set-dns|dns|revert|-d|flush-caches|-K|-G|-A|essid|default)$/,
    unless: /^-[an]+$/,
  },
  {
    rule: 'network/expose',
    program:
      /^(?:ngrok|localtunnel|lt|bore|frpc|frps|chisel|serveo|pagekite|zrok|expose|gotty|ttyd|wetty|shellinaboxd|gost|localxpose|loclx|telebit|tunnelto|rathole|inlets|sish|code-server|sshuttle|websocat|vncserver|x11vnc|xrdp|telnetd|in\.telnetd|vsftpd|smbd|nmbd|rpcbind|tftpd|dropbear|sshd)$/,
    unless: /^(?:--version|version|help|--help|-V|-h|config check|-t|-T)$/,
  },
  { rule: 'network/expose', program: /^(?:npx|bunx|pnpx)$/, any: /^(?:localtunnel|ngrok|untun|cloudflared|lt|wetty)(?:@.*)?$/ },
  { rule: 'network/expose', program: /^cloudflared$/, words: /^(?:tunnel|access|service)$/, unless: /tunnel (?:list|info)/ },
  { rule: 'network/expose', program: /^tailscale$/, words: /^(?:funnel|serve|up|set|file|login|ssh)$/, unless: /status/ },
  { rule: 'network/expose', program: /^(?:ssh|autossh)$/, any: /^-\w*[RDw](?:$|\d|\S)|^-\w*g$|^-L(?:0\.0\.0\.0|\*|::)/ },
  {
    rule: 'network/expose',
    program: /^(?:ssh|autossh)$/,
    text: /-L ?(?:0\.0\.0\.0|\*|\[?::\]?):|GatewayPorts|RemoteForward|DynamicForward/,
  },
  {
    rule: 'network/expose',
    program: /^python[\d.]*$/,
    text: /(?:http\.server|SimpleHTTPServer|pyftpdlib|twisted).*(?:0\.0\.0\.0|::|(?:-d|--directory)[= ]?(?:\/|~)(?: |$))/,
  },
  { rule: 'network/expose', program: /^(?:xhost)$/, any: /^\+/ },
  { rule: 'network/expose', program: /^(?:exportfs|net|chmod-share|smbcontrol|netatalk)$/, words: /^(?:usershare|share|-a)$/ },
  { rule: 'network/expose', program: /^(?:upnpc|miniupnpc|natpmpc)$/, any: /^-[aru]/ },
];
