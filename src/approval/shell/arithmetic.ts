import type { ArithmeticExpression } from 'unbash';

/** The number an expression always is, as text. */
export function constantOf(expression: ArithmeticExpression): string | undefined {
  const value = numberOf(expression);
  return value === undefined || !Number.isFinite(value) ? undefined : String(Math.trunc(value));
}

function numberOf(expression: ArithmeticExpression): number | undefined {
  switch (expression.type) {
    case 'ArithmeticWord':
      return /^\d{1,12}$/.test(expression.value) ? Number.parseInt(expression.value, expression.value.startsWith('0') ? 8 : 10) : undefined;
    case 'ArithmeticGroup':
      return numberOf(expression.expression);
    case 'ArithmeticUnary': {
      const operand = numberOf(expression.operand);
      if (operand === undefined || !expression.prefix) return undefined;
      return expression.operator === '-' ? -operand : expression.operator === '+' ? operand : undefined;
    }
    case 'ArithmeticBinary': {
      const left = numberOf(expression.left);
      const right = numberOf(expression.right);
      if (left === undefined || right === undefined) return undefined;
      const operations: Record<string, number> = {
        '+': left + right,
        '-': left - right,
        '*': left * right,
        '/': left / right,
        '%': left % right,
      };
      return operations[expression.operator];
    }
    default:
      return undefined;
  }
}
