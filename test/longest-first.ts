import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest on a quiet machine, longest first (`npm run test:slow` lists them). A few seconds do not matter. */
const longest = [
  'world/programs',
  'backends/docker-streams',
  'backends/podman',
  'backends/kubernetes',
  'mcp/mcp',
  'sandboxes/spares',
  'backends/docker',
  'cli/approvals',
  'backends/attacks',
  'world/destinations',
  'world/escapes',
  'gateway/killed',
  'cli/run',
  'backends/data-attacks',
  'web/page',
  'backends/stream-attacks',
  'tools/execute-code',
  'cli/cwd',
  'backends/docker/ssh',
  'backends/gvisor',
  'backends/docker/tls',
  'backends/bubblewrap',
  'backends/local',
  'backends/sigkill',
  'tools/execute-code-hostile',
  'cli/joined-chat',
  'tools/process',
  'backends/limits',
  'gateway/question-ends',
  'cli/chat',
  'shell/forker',
  'stores/conversations',
  'channels/telegram/listening',
  'agent/compact',
  'bash-judge/properties',
];

/** Starts the longest files first, so that no worker is left with one of them at the end. The others follow by what vitest knows of them. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const index = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return index < 0 ? longest.length : index;
    };
    // Lane by lane, because workers of one lane are not reused for the other.
    const lanes = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    return [...lanes.values()].flatMap((lane) => lane.sort((a, b) => rank(a) - rank(b)));
  }
}
