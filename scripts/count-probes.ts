import { readFileSync } from 'node:fs';
import { parseAst } from 'vite';

interface Node {
  type: string;
  [part: string]: unknown;
}

/** How many lines of a corpus say something. */
export function countLines(path: string): number {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#')).length;
}

/** How many tests a file has, one for each row of a table. Nothing is run; rows that only a run would know count as one. */
export function countTests(path: string): number {
  const tree = parseAst(readFileSync(path, 'utf8'), { lang: 'ts' }) as unknown as Node;
  const constants = new Map<string, Node>();
  for (const node of nodesIn(tree)) {
    const { id, init } = node as { id?: Node; init?: Node };
    if (node.type === 'VariableDeclarator' && id?.type === 'Identifier' && init) constants.set(String(id.name), init);
  }
  let count = 0;
  for (const node of nodesIn(tree)) if (isTest(node)) count += rowsOf(node.callee as Node, constants);
  return count;
}

function* nodesIn(node: Node): Generator<Node> {
  yield node;
  for (const part of Object.values(node)) {
    for (const child of Array.isArray(part) ? part : [part]) if (isNode(child)) yield* nodesIn(child);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

/** `it(title, body)`, what is called like it, `it.each(rows)(title, body)`, and `itNeeding(needs, title, body)`. */
function isTest(node: Node): boolean {
  if (node.type !== 'CallExpression') return false;
  const [first, second] = node.arguments as Node[];
  const name = rootOf(node.callee as Node);
  return (name === 'it' && isTitle(first)) || (name === 'itNeeding' && isTitle(second));
}

function isTitle(node: Node | undefined): boolean {
  return node?.type === 'Literal' || node?.type === 'TemplateLiteral';
}

function rootOf(callee: Node): unknown {
  if (callee.type === 'MemberExpression') return rootOf(callee.object as Node);
  if (callee.type === 'CallExpression') return rootOf(callee.callee as Node);
  return callee.name;
}

/** `each` may be anywhere in the chain. */
function rowsOf(callee: Node, constants: ReadonlyMap<string, Node>): number {
  if (callee.type === 'MemberExpression') return rowsOf(callee.object as Node, constants);
  if (callee.type !== 'CallExpression') return 1;
  const { property } = callee.callee as { property?: Node };
  const [rows] = callee.arguments as Node[];
  return property?.name === 'each' && rows ? lengthOf(rows, constants) : rowsOf(callee.callee as Node, constants);
}

function lengthOf(node: Node, constants: ReadonlyMap<string, Node>): number {
  switch (node.type) {
    case 'ArrayExpression':
      return sum(node.elements as Node[], (each) => (each.type === 'SpreadElement' ? lengthOf(each.argument as Node, constants) : 1));
    case 'ObjectExpression':
      return (node.properties as Node[]).length;
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
      return lengthOf(node.expression as Node, constants);
    case 'Identifier': {
      const value = constants.get(String(node.name));
      return value ? lengthOf(value, constants) : 1;
    }
    // Object.entries(table), Object.keys(table), new Set(rows)
    case 'CallExpression':
    case 'NewExpression': {
      const [table] = node.arguments as Node[];
      const isPlain = node.type === 'NewExpression' || (node.callee as { object?: Node }).object?.name === 'Object';
      return table && isPlain ? lengthOf(table, constants) : 1;
    }
    default:
      return 1;
  }
}

function sum(nodes: readonly Node[], count: (node: Node) => number): number {
  return nodes.reduce((total, node) => total + count(node), 0);
}
