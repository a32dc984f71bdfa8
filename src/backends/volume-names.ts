/** Volumes that stand in for the workspace and the home of a sandbox where the engine does not see the directories of this machine. */
export interface Volumes {
  workspace: string;
  home: string;
}

export function volumesOf(sandbox: string): Volumes {
  return { workspace: `hermetic-${sandbox}-workspace`, home: `hermetic-${sandbox}-home` };
}
