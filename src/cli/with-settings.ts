import { redactorOf } from '../app/secrets.ts';
import { findHome, prepareHome, stateFile } from '../config/home.ts';
import { checkConfig, loadConfig } from '../config/load.ts';
import { SettingsEditor } from '../config/settings-editor.ts';
import type { CliIo } from './io.ts';
import { shellPerson } from './person.ts';

/** For commands that change config.yaml or `.env`, also when those do not load as they are. Makes the home when there is none. */
export async function withSettings<T>({ environment }: CliIo, work: (settings: SettingsEditor) => Promise<T>): Promise<T> {
  const home = findHome({ environment });
  prepareHome(home);
  const { openStore } = await import('../stores/index.ts');
  const store = await openStore(stateFile(home.directory));
  try {
    const loaded = checkConfig({ environment }).length === 0 ? loadConfig({ environment }) : undefined;
    const redact = loaded && redactorOf(() => loaded);
    const record = (events: Parameters<typeof store.audit.append>[0]): Promise<void> => store.audit.append(events);
    return await work(new SettingsEditor({ files: home.files, actor: shellPerson(), record, redact }));
  } finally {
    await store.close();
  }
}
