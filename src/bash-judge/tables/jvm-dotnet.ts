import { definitions } from './native.ts';
import { each, type Program, type Programs } from './program.ts';

// `-javaagent`, `-agentlib`, `-agentpath`, `-XX:OnError` and `@file` load or run something else; so only these words are known.
const java: Program = {
  options: `-version --version -showversion --show-version -help --help -h -? -X -cp:directory -classpath:directory --class-path:directory
    -p:script --module-path:script -jar:script -m:text --module:text --add-modules:text --add-opens:text --add-exports:text
    --add-reads:text --list-modules --describe-module:text --dry-run --validate-modules --source:text --enable-preview
    --enable-native-access:text -ea:text? -enableassertions:text? -da:text? -disableassertions:text? -esa -dsa -server -client -d64
    -verbose:text? -Xmx:text? -Xms:text? -Xss:text? -Xmn:text? -Xint -Xcomp -Xmixed -Xbatch -Xdiag -Xcheck:text? -Xshare:text?
    -XshowSettings:text? -D:package? -Djava.security.egd:text --port:text --server.port:text --spring.profiles.active:text`,
  operands: 'script text*',
  operandsWith: {
    '-jar': 'text*',
    '-m': 'text*',
    '--module': 'text*',
    '-version': '',
    '--version': '',
    '-help': '',
    '--help': '',
    '-h': '',
    '-X': '',
    '--list-modules': '',
    '-XshowSettings': '',
  },
  words: true,
  optionsFirst: true,
};

const javac: Program = {
  options: `-version --version -help --help -d:write -s:write -h:write -cp:directory -classpath:directory --class-path:directory -sourcepath:read
    --source-path:read -p:script --module-path:script --module-source-path:read -m:text --module:text --add-modules:text --add-exports:text
    --add-reads:text --limit-modules:text -source:text --source:text -target:text --target:text --release:text -encoding:text -g:text?
    -nowarn -verbose -deprecation -parameters -Werror -Xlint:text? -Xdoclint:text? -Xmaxerrs:text -Xmaxwarns:text -Xdiags:text?
    -implicit:text? --enable-preview -J-Xmx:text? -XDrawDiagnostics`,
  // No `@file`, which holds options.
  operands: 'script*',
  words: true,
};

/** Goals in any order: those that are known to be harmless, and those that are asked about by a rule. */
function goals(row: Program, harmless: string, asking: Programs, depth = 4): Program {
  return { ...row, subcommands: { ...(depth > 0 && { [harmless]: goals(row, harmless, asking, depth - 1) }), ...asking } };
}

// Settings from elsewhere (`-s`, `-gs`) and other repositories are left out. A goal names a plugin that is fetched, so only usual ones are known.
const mvn: Program = goals(
  {
    options: `-h --help -v --version -version -V --show-version -q --quiet -X --debug -e --errors -B --batch-mode -o --offline -U
      --update-snapshots -T:text --threads:text -P:text? --activate-profiles:text -pl:text --projects:text -am --also-make -amd
      --also-make-dependents -rf:text --resume-from:text -r --resume -N --non-recursive -f:script --file:script -fae --fail-at-end -ff
      --fail-fast -fn --fail-never -ntp --no-transfer-progress -nsu --no-snapshot-updates -C --strict-checksums -c --lax-checksums
      -l:write --log-file:write --color:text -itr -llr -nta -ns -D:package? -Dtest:text -Dit.test:text -Dgroups:text -DexcludedGroups:text -Dincludes:text
      -DexcludeGroupIds:text -DoutputDirectory:write -DoutputFile:write -Doutput:write -Dproject.build.directory:delete
      -DbuildDirectory:delete -Dmaven.compiler.executable:text?!code/injected -Dexec.mainClass:text -Dmaven.repo.local:write
      -Dexec.executable:text?!code/injected
      -Dexec.args:text?!code/injected -Dexec.commandlineArgs:text?!code/injected -DargLine:text?!code/injected
      -Dmaven.ext.class.path:text?!code/injected -Djvm:text?!code/injected 
      -Dmaven.multiModuleProjectDirectory:directory? -DremoteRepositories:text?!packages/install
      -DarchetypeRepository:text?!packages/install -DarchetypeCatalog:text?!packages/install`,
    words: true,
  },
  `clean|validate|initialize|generate-sources|process-sources|generate-resources|process-resources|compile|process-classes|generate-test-sources|test-compile|test|package|
    integration-test|verify|install|site|dependency:tree|dependency:resolve|dependency:analyze|dependency:list|dependency:go-offline|dependency:sources|dependency:copy-dependencies|
    dependency:build-classpath|versions:display-dependency-updates|versions:display-plugin-updates|versions:set|help:effective-pom|help:describe|help:evaluate|
    help:active-profiles|spring-boot:run|spring-boot:build-info|spring-boot:repackage|exec:java|javafx:run|quarkus:dev|jetty:run|tomcat7:run|surefire:test|failsafe:integration-test|compiler:compile|
    checkstyle:check|checkstyle:checkstyle|spotless:apply|spotless:check|pmd:check|spotbugs:check|jacoco:report|javadoc:javadoc|source:jar|enforcer:enforce|fmt:format|
    wrapper:wrapper|archetype:generate|formatter:format|license:check|sortpom:sort|flyway:migrate|flyway:info|liquibase:update|liquibase:status`.replace(
    /\s+/g,
    '',
  ),
  {
    'deploy|release:perform|release:prepare|deploy:deploy|deploy:deploy-file|site-deploy|site:deploy|nexus-staging:release': {
      asks: 'packages/publish',
    },
    'flyway:clean|liquibase:dropAll|liquibase:rollback|sql:execute': { asks: 'database/destroy' },
    'antrun:run|exec:exec': { asks: 'code/unseen' },
    'dependency:get': { asks: 'packages/install' },
  },
);

const gradle: Program = goals(
  {
    options: `-h --help -? -v --version -q --quiet -w --warn -i --info -d --debug -s --stacktrace -S --full-stacktrace --console:text
      --parallel --no-parallel --max-workers:text --daemon --no-daemon --foreground --stop --status --offline --refresh-dependencies
      --continue -m --dry-run --rerun-tasks --rerun --build-cache --no-build-cache --configuration-cache --no-configuration-cache
      --configure-on-demand --no-configure-on-demand --scan!network/upload --no-scan --profile -t --continuous -x:text --exclude-task:text
      --tests:text -p:directory --project-dir:directory -b:script --build-file:script -c:script --settings-file:script --warning-mode:text
      --fail-fast --write-locks --update-locks:text --write-verification-metadata:text --priority:text --watch-fs --no-watch-fs --all
      --configuration:text --dependency:text --type:text --dsl:text --test-framework:text --project-name:text --package:text
      --java-version:text --gradle-version:text --distribution-type:text --project-cache-dir:write ${definitions('-P')} ${definitions('-D')} --args:text
      --task:text -Dorg.gradle.jvmargs:text?!code/injected -Dorg.gradle.java.home:text?!code/injected`,
    operands: 'text*',
    words: true,
  },
  'build|test|clean|assemble|check|compileJava|compileKotlin|classes|jar|run|bootRun|bootJar|lint|ktlintCheck|ktlintFormat|detekt|spotlessApply|spotlessCheck',
  {
    'publish|publishToMavenCentral|publishPlugins|uploadArchives|publishAllPublicationsToMavenCentralRepository': {
      asks: 'packages/publish',
    },
  },
);

const kotlinc: Program = {
  options: `-version -help -h -d:write -cp:directory -classpath:directory -include-runtime -jvm-target:text -language-version:text
    -api-version:text -nowarn -Werror -verbose -no-stdlib -no-reflect -no-jdk -module-name:text -progressive -opt-in:text -java-parameters
    -e:code -expression:code`,
  operands: 'script script*',
  operandsWith: { '-version': '', '-help': '', '-h': '', '-e': 'text*', '-expression': 'text*' },
  words: true,
};

const sbt: Program = goals(
  {
    options: `-h -help --help --version -version -d -debug --debug -batch --batch -no-colors --no-colors --color:text --supershell:text?
      -mem:text -Xmx:text? -error --error`,
    words: true,
  },
  `compile|test|run|clean|update|assembly|package|doc|scalafmt|scalafmtCheck|scalafmtAll|scalafmtCheckAll|scalafmtSbt|scalafix|scalafixAll|reload|dependencyTree|evicted|
    projects|tasks|Test/compile|test:compile|publishLocal|coverage|coverageReport|bloopInstall|stage|exit|+compile|+test|about|version`.replace(
    /\s+/g,
    '',
  ),
  { 'publish|publishSigned|sonatypeRelease|sonatypeBundleRelease|release|ci-release': { asks: 'packages/publish' } },
);

const jvm: Programs = {
  java,
  javac,
  jar: {
    options: `-h --help --version -c --create -x --extract -t --list -u --update -f:write --file:write -v --verbose -m:read
      --manifest:read -e:text --main-class:text -M --no-manifest -0 --no-compress -C:directory --release:text --describe-module -d
      --date:text`,
    operands: 'script*',
    firstNamed: true,
    brings: { '-x': 'unpacked', '--extract': 'unpacked' },
    subcommands: {
      'tf|tvf': { operands: 'read text*' },
      'xf|xvf|xfv|vxf': { operands: 'read text*', brings: 'unpacked' },
      'cf|cvf|cfe|cvfe|uf|uvf': { options: '-C:directory', operands: 'write script*' },
    },
  },
  javap: {
    options: `-help --help -version -v -verbose -l -public -protected -package -p -private -c -s -sysinfo -constants -cp:read
      -classpath:read --class-path:read -m:text --module:text`,
    operands: 'text*',
    words: true,
  },
  javadoc: {
    options: `-help --help -version -d:write -sourcepath:read -cp:read -classpath:read -public -protected -package -private -quiet
      -verbose -encoding:text -charset:text -docencoding:text -author -use -version -windowtitle:text -doctitle:text -subpackages:text
      -exclude:text -Xdoclint:text? -linksource -notimestamp -source:text --release:text`,
    operands: 'script*',
    words: true,
  },
  ...each('jps jstat jdeps jinfo jmod jlink', {
    options: `-h --help -help --version -l -m -v -V -q -s -summary -R -recursive -cp:read --module-path:read --print-module-deps
      --list-deps --ignore-missing-deps --multi-release:text -gc -gcutil`,
    operands: 'read*',
    words: true,
  }),
  ...each('jstack jcmd jmap jdb', { asks: 'program/option' }),
  mvn,
  mvnw: mvn,
  gradle,
  gradlew: gradle,
  kotlinc,
  kotlin: {
    options: '-version -help -h -cp:directory -classpath:directory -e:code',
    operands: 'script text*',
    operandsWith: { '-version': '', '-help': '', '-e': 'text*' },
    words: true,
    optionsFirst: true,
  },
  ktlint: {
    options: `-h --help -V --version -F --format -l:text --log-level:text --color --relative --reporter:text --editorconfig:read
      --baseline:read --limit:text --stdin --code-style:text`,
    operands: 'write*',
  },
  detekt: {
    options: `-h --help --version -i:read --input:read -c:script --config:script -b:read --baseline:read -r:text --report:text -ex:text
      --excludes:text -in:text --includes:text --build-upon-default-config --all-rules --parallel -ac --auto-correct`,
  },
  scalac: {
    options: `-version -help -d:write -cp:directory -classpath:directory -deprecation -feature -unchecked -explain -Werror -Xfatal-warnings
      -encoding:text -source:text -release:text -Wunused:text?`,
    operands: 'script*',
    words: true,
  },
  ...each('scala scala-cli', {
    options: '-version --version -help --help -h -cp:directory -classpath:directory -e:code',
    operands: 'script text*',
    operandsWith: { '-version': '', '--version': '', '-help': '', '--help': '', '-h': '', '-e': 'text*' },
    words: true,
    subcommands: {
      'run|compile|test|fmt|package|doc|clean|setup-ide|version': {
        options: '-h --help -w --watch -S:text --scala:text --check -o:write -f --main-class:text --server=false --test-only:text',
        operands: 'script*',
        words: true,
      },
      'repl|publish|shebang': { asks: 'code/unseen' },
    },
  }),
  scalafmt: {
    options: `-h --help -v --version --check --test -i --list -l --config:read -c:read --diff -q --quiet --non-interactive --exclude:text
      --stdin --stdout`,
    operands: 'write*',
  },
  // A task may be code: `eval`, `set`. So only usual ones are known; without one it is a shell that reads code.
  ...each('sbt sbtn', { ...sbt, asksWithout: ['-h -help --help --version -version', 'code/unseen'] }),
  mill: { options: '-h --help -v --version -w --watch -j:text --jobs:text -i -k --keep-going -s --silent -d', operands: 'text+' },
  ant: {
    options: `-h -help -p -projecthelp -version -diagnostics -q -quiet -v -verbose -d -debug -e -emacs -k -keep-going -f:script
      -file:script -buildfile:script -D:package?`,
    operands: 'text*',
    words: true,
  },
  lein: {
    options: '-h --help -v --version -o',
    subcommands: {
      'test|run|compile|uberjar|jar|deps|clean|check|javac|version|help|classpath|pom|show-profiles|figwheel|cljfmt|eastwood|kibit|ancient|search|install':
        { options: '-m:text', operands: 'text*', optionsFirst: true },
      'deploy|release': { asks: 'packages/publish' },
      'repl|exec|update-in|do|with-profile|trampoline': { asks: 'code/unseen' },
    },
  },
  ...each('clj clojure', {
    options: '--version -version --help -P -Spath -Stree -Sdescribe -Sforce',
    asksWithout: ['--version -version --help -P -Spath -Stree -Sdescribe', 'code/unseen'],
    words: true,
  }),
  jbang: { asks: 'packages/install' },
  sdk: { subcommands: { 'list|current|version|home|help|use|env': { operands: 'text*' } } },
  ...each('google-java-format', {
    options: `-h --help -version -i -r --replace -n --dry-run --set-exit-if-changed -a --aosp --skip-sorting-imports
      --skip-removing-unused-imports --skip-reflowing-long-strings`,
    operands: 'write*',
  }),
  checkstyle: { options: '-h --help -V --version -c:script -o:write -f:text -e:text -x:text -p:read -d', operands: 'read*' },
};

const dotnetBuild = `-h --help -? -c:text --configuration:text -f:text --framework:text -r:text --runtime:text --os:text -a:text
  --arch:text -o:write --output:write --no-restore --no-build --no-incremental --no-dependencies --no-logo --nologo -v:text
  --verbosity:text --self-contained:text? --no-self-contained --sc --version-suffix:text --force --tl:text? --interactive
  --use-current-runtime --ucr --disable-build-servers --artifacts-path:write --debug --locked-mode --use-lock-file --force-evaluate
  --packages:write --no-cache --ignore-failed-sources --lock-file-path:write -warnaserror --include-symbols --include-source --serviceable
  -m --manifest:read -tl -bl --bl -maxcpucount -clp:text? -nr:text? -graph -restore -t:text? -target:text?`;

const dotnetTest = `${dotnetBuild} --filter:text -l:text --logger:text -t --list-tests -s:script --settings:script --collect:text
  --results-directory:write --blame --blame-crash --blame-hang --blame-hang-timeout:text -e:variable --environment:variable -d:write
  --diag:write --report-trx --coverage --minimum-expected-tests:text --project:script --solution:script`;

const dotnet: Program = {
  options: '-h --help --version --info --list-sdks --list-runtimes -d --diagnostics',
  words: true,
  subcommands: {
    'build|restore|clean|publish|pack|msbuild': { options: dotnetBuild, operands: 'script*', words: true },
    test: { options: dotnetTest, operands: 'script*', words: true },
    run: {
      options: `${dotnetBuild} --project:script --launch-profile:text --no-launch-profile -lp:text --file:script`,
      operands: 'directory*',
      words: true,
      subcommands: { '-': { asks: 'code/unseen' } },
    },
    watch: {
      options: `${dotnetBuild} --project:script --no-hot-reload --non-interactive -q --quiet --list --launch-profile:text`,
      operands: '',
      words: true,
      subcommands: { 'run|test|build': { options: dotnetTest, operands: 'directory*', words: true } },
    },
    format: {
      options: `-h --help --verify-no-changes --no-restore --include:text --exclude:text --severity:text --diagnostics:text
        --exclude-diagnostics:text -v:text --verbosity:text --report:write --binarylog:write --include-generated`,
      operands: 'script*',
      words: true,
      subcommands: {
        'whitespace|style|analyzers': {
          options: `-h --help --verify-no-changes --no-restore --include:text --exclude:text --severity:text --diagnostics:text -v:text
            --folder`,
          operands: 'script*',
          words: true,
        },
      },
    },
    new: {
      options: `-h --help -n:text --name:text -o:write --output:write -f:text --framework:text -lang:text --language:text --dry-run
        --force --no-restore --no-https -au:text --auth:text --use-program-main -int:text --empty --use-controllers --type:text -p:text
        --format:text`,
      operands: 'text?',
      words: true,
      subcommands: {
        'list|search|details': { options: '--help', operands: 'text*', words: true },
        'install|uninstall|update': { asks: 'packages/install' },
      },
    },
    sln: { operands: 'write? text*', subcommands: { 'add|remove|list|migrate': { operands: 'script*' } } },
    'add|remove|list|package|reference': {
      options: `-h --help -v:text --version:text --prerelease --no-restore -f:text --framework:text --project:script --outdated
        --vulnerable --deprecated --include-transitive --highest-minor --format:text --interactive`,
      operands: 'script*',
      words: true,
    },
    ef: {
      subcommands: {
        migrations: {
          subcommands: {
            'add|list|script|remove|has-pending-model-changes|bundle': {
              options: `-h --help -p:script --project:script -s:script --startup-project:script -c:text --context:text -o:write
                --output-dir:write --output:write --no-build --configuration:text --framework:text --json -v --verbose -i --idempotent -f
                --force`,
              operands: 'text*',
              words: true,
            },
          },
        },
        database: {
          subcommands: {
            update: {
              options: `-h --help -p:script --project:script -s:script --startup-project:script -c:text --context:text --no-build -v
                --verbose`,
              operands: 'text?',
              words: true,
            },
            drop: { asks: 'database/destroy' },
          },
        },
        dbcontext: {
          subcommands: {
            'info|list|script|optimize': {
              options: '--json -c:text --context:text --no-build -p:script --project:script -s:script --startup-project:script',
              words: true,
            },
          },
        },
      },
    },
    tool: {
      subcommands: {
        'restore|list|search': { options: '-h --help --local --global -g', operands: 'text*' },
        run: { operands: 'text text*', optionsFirst: true },
        install: { options: '--local --version:text --create-manifest-if-needed --prerelease', operands: 'package' },
        'uninstall|update': { asks: 'packages/remove' },
      },
    },
    nuget: {
      subcommands: {
        locals: { options: '-l --list -c --clear', operands: 'text' },
        'push|delete|add|update|enable|disable|trust|sign|remove': { asks: 'packages/publish' },
        list: { operands: 'text*' },
        why: { operands: 'text*' },
      },
    },
    workload: { subcommands: { 'list|search': { operands: 'text*' } } },
    'sdk|help|build-server|store': { subcommands: { 'check|shutdown': {} }, options: '-h --help', operands: 'text*' },
    'dev-certs|user-secrets|user-jwts|fsi|exec': { asks: 'program/subcommand' },
    csharpier: {
      options: '--check -h --help --version',
      operands: 'write*',
      subcommands: { 'format|check': { options: '--no-cache', operands: 'write*' } },
    },
  },
};

const others: Programs = {
  dotnet,
  csharpier: {
    options: '--check -h --help --version',
    operands: 'write*',
    subcommands: { 'format|check': { options: '--no-cache', operands: 'write*' } },
  },
  fantomas: { options: '-h --help -v --version --check --recurse -r --force', operands: 'write*' },
  ...each('nuget', {
    options: '-h -help',
    words: true,
    subcommands: {
      'restore|list|search|help|install': {
        options: '-OutputDirectory:write -Version:text -NonInteractive -Verbosity:text',
        operands: 'text*',
        words: true,
      },
      'push|delete|setapikey|sources|config': { asks: 'packages/publish' },
    },
  }),
};

export const jvmDotnetPrograms: Programs = { ...jvm, ...others };
