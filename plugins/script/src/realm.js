/** Makes scripts deterministic: the module has no clock and no random numbers, and a wrong value would be worse than an error. */

function refuse(what, remedy) {
  return () => {
    throw new TypeError(`scripts have no ${what}: ${remedy}`);
  };
}

/** Replaces what reads a clock or random numbers by functions that throw. Timers end at once: no time passes. */
export function removeClocks() {
  const noClock = refuse("clock", "pass the time in the arguments of run_script");
  const RealDate = Date;
  function ScriptDate(...args) {
    if (new.target === undefined || args.length === 0) noClock();
    return Reflect.construct(RealDate, args, new.target);
  }
  ScriptDate.prototype = RealDate.prototype;
  RealDate.prototype.constructor = ScriptDate;
  Object.assign(ScriptDate, { parse: RealDate.parse, UTC: RealDate.UTC, now: noClock });
  Object.defineProperty(ScriptDate, "name", { value: "Date" });
  globalThis.Date = ScriptDate;
  Math.random = refuse("random numbers", "pass a seed in the arguments of run_script");
  delete globalThis.performance;
}

/** Gives values that JSON loses a form that JSON keeps. */
export function addJSON() {
  const forms = new Map([
    [BigInt, (number) => String(number)],
    [Map, (map) => Object.fromEntries(map)],
    [Set, (set) => Array.from(set)],
    [Object.getPrototypeOf(Uint8Array), (array) => Array.from(array)],
    [Error, ({ name, message }) => ({ name, message })],
    [Promise, () => "[a promise: await it]"],
  ]);
  for (const [type, form] of forms) {
    const toJSON = function () {
      return form(this);
    };
    Object.defineProperty(type.prototype, "toJSON", { value: toJSON, configurable: true, writable: true });
  }
}
