import { apptainer, reachableDirectory, unpackImage } from '../apptainer.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { describeBackend } from '../engines.ts';

const image = unpackImage(reachableDirectory());
const options = { singularity_program: apptainer, singularity_image: image };

await describeBackend('singularity', sandboxContract, { image, options });
