import { archivePrograms } from './archives.ts';
import { cloudPrograms } from './cloud.ts';
import { containerPrograms } from './containers.ts';
import { databasePrograms } from './databases.ts';
import { desktopPrograms } from './desktop.ts';
import { documentPrograms } from './documents.ts';
import { filePrograms } from './files.ts';
import { functionalPrograms } from './functional.ts';
import { gitPrograms } from './git.ts';
import { hermeticPrograms } from './hermetic.ts';
import { interpreterPrograms } from './interpreters.ts';
import { javascriptPrograms } from './javascript.ts';
import { javascriptPackagePrograms } from './javascript-packages.ts';
import { javascriptTools } from './javascript-tools.ts';
import { jvmDotnetPrograms } from './jvm-dotnet.ts';
import { launcherPrograms } from './launchers.ts';
import { mediaPrograms } from './media.ts';
import { moreLanguagePrograms } from './more-languages.ts';
import { nativePrograms } from './native.ts';
import { networkPrograms } from './network.ts';
import { packagePrograms } from './packages.ts';
import type { Programs } from './program.ts';
import { pythonPrograms } from './python.ts';
import { pythonTools } from './python-tools.ts';
import { pythonWebTools } from './python-web.ts';
import { rubyPhpPrograms } from './ruby-php.ts';
import { rustGoPrograms } from './rust-go.ts';
import { systemPrograms } from './system.ts';
import { textPrograms } from './text.ts';

/** Every program that is known. */
export const programs: Programs = {
  ...archivePrograms,
  ...cloudPrograms,
  ...containerPrograms,
  ...databasePrograms,
  ...desktopPrograms,
  ...documentPrograms,
  ...filePrograms,
  ...functionalPrograms,
  ...gitPrograms,
  ...hermeticPrograms,
  ...interpreterPrograms,
  ...javascriptPackagePrograms,
  ...javascriptTools,
  ...javascriptPrograms,
  ...jvmDotnetPrograms,
  ...launcherPrograms,
  ...mediaPrograms,
  ...moreLanguagePrograms,
  ...nativePrograms,
  ...networkPrograms,
  ...packagePrograms,
  ...pythonTools,
  ...pythonWebTools,
  ...pythonPrograms,
  ...rubyPhpPrograms,
  ...rustGoPrograms,
  ...systemPrograms,
  ...textPrograms,
};

/** Programs that touch only what their words name; the others work in the directory they are started in. */
export const pathPrograms: ReadonlySet<string> = new Set(
  [filePrograms, systemPrograms, launcherPrograms, textPrograms, hermeticPrograms, packagePrograms, desktopPrograms]
    .flatMap((table) => Object.keys(table))
    .filter((name) => !/^(?:patch|split|csplit)$/.test(name)),
);

/** Programs that run or read what they find in the workspace. */
const runnerPrograms: ReadonlySet<string> = new Set(
  [
    interpreterPrograms,
    javascriptPrograms,
    javascriptPackagePrograms,
    javascriptTools,
    pythonPrograms,
    pythonTools,
    rustGoPrograms,
    jvmDotnetPrograms,
    nativePrograms,
    moreLanguagePrograms,
    documentPrograms,
    rubyPhpPrograms,
  ].flatMap((table) => Object.keys(table)),
);

const compilerPrograms: ReadonlySet<string> = new Set(
  [rustGoPrograms, jvmDotnetPrograms, nativePrograms, moreLanguagePrograms, functionalPrograms].flatMap((table) => Object.keys(table)),
);

/** Whether it makes programs out of the files it reads. */
export function isCompiler(program: string): boolean {
  return compilerPrograms.has(withoutVersion(program));
}

/** Whether it is one of `runnerPrograms`, also by the name of a version. */
export function isRunner(program: string): boolean {
  return runnerPrograms.has(withoutVersion(program));
}

/** Versions of a program are the program: python3.12, gcc-13. */
export function withoutVersion(program: string): string {
  return Object.hasOwn(programs, program) ? program : program.replace(/-?\d+(?:\.\d+)*$/, '');
}
