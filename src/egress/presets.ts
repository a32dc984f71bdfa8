export const presetNames = ['packages', 'git'] as const;

export type PresetName = (typeof presetNames)[number];

/** What a preset allows for one ecosystem or one service. */
export interface PresetPart {
  title: string;
  /** As they could be written in `network.allow`. */
  rules: readonly string[];
}

/**
 * Registries and mirrors under their own names, without storage of others (such as storage.googleapis.com) in which anyone may rent a place.
 */
const packages: readonly PresetPart[] = [
  { title: 'npm', rules: ['registry.npmjs.org', 'npmjs.org', 'www.npmjs.com', 'nodejs.org'] },
  { title: 'Yarn', rules: ['registry.yarnpkg.com', 'repo.yarnpkg.com'] },
  { title: 'JSR and Deno', rules: ['jsr.io', 'npm.jsr.io', 'deno.land', 'dl.deno.land'] },
  { title: 'PyPI', rules: ['pypi.org', 'pypi.python.org', 'files.pythonhosted.org'] },
  { title: 'conda and conda-forge', rules: ['repo.anaconda.com', 'conda.anaconda.org', 'api.anaconda.org'] },
  { title: 'crates.io and Rust', rules: ['crates.io', 'index.crates.io', 'static.crates.io', 'static.rust-lang.org', 'sh.rustup.rs'] },
  { title: 'Go', rules: ['proxy.golang.org', 'sum.golang.org', 'index.golang.org', 'golang.org', 'go.dev'] },
  { title: 'RubyGems', rules: ['rubygems.org', 'index.rubygems.org', 'api.rubygems.org'] },
  {
    title: 'Maven Central',
    rules: ['repo.maven.apache.org', 'repo1.maven.org', 'central.sonatype.com', 'maven.google.com', 'dl.google.com'],
  },
  { title: 'Gradle', rules: ['plugins.gradle.org', 'plugins-artifacts.gradle.org', 'services.gradle.org', 'downloads.gradle.org'] },
  { title: 'Packagist', rules: ['packagist.org', 'repo.packagist.org', 'getcomposer.org'] },
  { title: 'NuGet', rules: ['api.nuget.org', 'www.nuget.org', 'globalcdn.nuget.org'] },
  { title: 'Hex', rules: ['hex.pm', 'repo.hex.pm', 'builds.hex.pm'] },
  { title: 'Hackage', rules: ['hackage.haskell.org', 'downloads.haskell.org'] },
  { title: 'opam', rules: ['opam.ocaml.org'] },
  { title: 'pub.dev', rules: ['pub.dev', 'pub.dartlang.org'] },
  { title: 'CPAN', rules: ['www.cpan.org', 'cpan.metacpan.org', 'fastapi.metacpan.org', 'cpanmetadb.plackperl.org'] },
  { title: 'CRAN', rules: ['cran.r-project.org', 'cloud.r-project.org'] },
  { title: 'Julia', rules: ['pkg.julialang.org', '*.pkg.julialang.org'] },
  { title: 'LuaRocks', rules: ['luarocks.org'] },
  { title: 'CocoaPods', rules: ['cdn.cocoapods.org'] },
  { title: 'Nix', rules: ['cache.nixos.org', 'channels.nixos.org', 'releases.nixos.org'] },
  { title: 'Debian', rules: ['deb.debian.org', 'security.debian.org', 'ftp.debian.org', 'snapshot.debian.org'] },
  { title: 'Ubuntu', rules: ['archive.ubuntu.com', '*.archive.ubuntu.com', 'security.ubuntu.com', 'ports.ubuntu.com'] },
  { title: 'Alpine', rules: ['dl-cdn.alpinelinux.org'] },
  { title: 'Fedora', rules: ['mirrors.fedoraproject.org', 'dl.fedoraproject.org'] },
  { title: 'Arch Linux', rules: ['geo.mirror.pkgbuild.com'] },
];

const git: readonly PresetPart[] = [
  {
    title: 'GitHub',
    rules: [
      'github.com',
      'github.com:22',
      'ssh.github.com:443',
      'api.github.com',
      'uploads.github.com',
      'codeload.github.com',
      'gist.github.com',
      'gist.github.com:22',
      'raw.githubusercontent.com',
      'gist.githubusercontent.com',
      'objects.githubusercontent.com',
      'release-assets.githubusercontent.com',
      // Large files.
      'lfs.github.com',
      'media.githubusercontent.com',
      'github-cloud.githubusercontent.com',
      'github-cloud.s3.amazonaws.com',
    ],
  },
  { title: 'GitLab', rules: ['gitlab.com', 'gitlab.com:22', 'altssh.gitlab.com:443'] },
  {
    title: 'Bitbucket',
    rules: ['bitbucket.org', 'bitbucket.org:22', 'altssh.bitbucket.org:443', 'api.bitbucket.org', 'bbuseruploads.s3.amazonaws.com'],
  },
  { title: 'Codeberg', rules: ['codeberg.org', 'codeberg.org:22'] },
];

export const presets: Readonly<Record<PresetName, readonly PresetPart[]>> = { packages, git };
