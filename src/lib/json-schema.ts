import { toJSONSchema, type ZodType } from 'zod';

type JsonSchema = ReturnType<typeof make>;

const make = (type: ZodType) => toJSONSchema(type, { io: 'input', unrepresentable: 'any' });
const known = new WeakMap<ZodType, JsonSchema>();

/** The JSON Schema of its input. Made once for each type; not to be changed. */
export function inputSchemaOf(type: ZodType): JsonSchema {
  const schema = known.get(type) ?? make(type);
  known.set(type, schema);
  return schema;
}
