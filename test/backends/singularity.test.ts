import { describe } from 'vitest';
import { apptainer, reachableDirectory, unpackImage } from '../apptainer.ts';
import { backgroundContract } from '../contracts/sandbox/background.ts';
import { directoryContract } from '../contracts/sandbox/directory.ts';
import { filesContract } from '../contracts/sandbox/files.ts';
import { killContract } from '../contracts/sandbox/kill.ts';
import { lifecycleContract } from '../contracts/sandbox/lifecycle.ts';
import { terminalContract } from '../contracts/sandbox/terminal.ts';
import { troublesContract } from '../contracts/sandbox/troubles.ts';
import { describeBackend } from '../engines.ts';

const image = unpackImage(reachableDirectory());
const options = { singularity_program: apptainer, singularity_image: image };

// The parts that depend on the container. The rest is between the forker and its shells, which are those of bubblewrap: it held here as well, and takes too long to run twice.
await describeBackend(
  'singularity',
  (engine) => {
    describe('the working directory', () => directoryContract(engine));
    describe('background processes', () => backgroundContract(engine));
    describe('killing commands', () => killContract(engine));
    describe('terminals', () => terminalContract(engine));
    describe('files', () => filesContract(engine));
    describe('the lifecycle of a sandbox', () => lifecycleContract(engine));
    describe('resource limits', () => troublesContract(engine));
  },
  { image, options },
);
