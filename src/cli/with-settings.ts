import { redactorOf } from '../app/secrets.ts';
import { findHome, prepareHome, stateFile } from '../config/home.ts';
import { checkConfig, loadConfig } from '../config/load.ts';
import { SettingsEditor } from '../config/settings-editor.ts';
import type { AuditEvent } from '../core/audit.ts';
import type { Store } from '../core/store.ts';
import type { CliIo } from './io.ts';
import { shellPerson } from './person.ts';

/**
 * For commands that change config.yaml or `.env`, also when those do not load as they are. Makes the home when there
 * is none.
 */
export async function withSettings<T>({ environment }: CliIo, work: (settings: SettingsEditor) => Promise<T>): Promise<T> {
  const home = findHome({ environment });
  prepareHome(home);
  const loaded = checkConfig({ environment }).length === 0 ? loadConfig({ environment }) : undefined;
  const redact = loaded && redactorOf(() => loaded);
  let store: Store | undefined;
  const record = async (events: readonly AuditEvent[]): Promise<void> => {
    const { openStore } = await import('../stores/index.ts');
    store ??= await openStore(stateFile(home.directory));
    await store.audit.append(events);
  };
  try {
    return await work(new SettingsEditor({ files: home.files, actor: shellPerson(), record, redact }));
  } finally {
    await store?.close();
  }
}
