// Line 3 throws.
export function explode(options: { count: number }): never {
  throw new RangeError(`exploded ${options.count}`);
}
