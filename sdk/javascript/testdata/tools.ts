import { plugin } from "bulkhead-js";
import { explode } from "./helper";

const loaded = await Promise.resolve("at the top level");
const atLoad = Math.random();
const random: number[] = [];

const cases: Record<string, () => unknown> = {
  loaded: () => loaded,
  explode: () => explode({ count: 1 }),
  later: async () => {
    await null;
    explode({ count: 2 });
  },
  notAwaited: () => {
    void (async () => explode({ count: 3 }))();
    return "returned";
  },
  handledLater: async () => {
    const rejected = Promise.reject(new Error("handled"));
    await null;
    return rejected.catch((error: Error) => error.message);
  },
  pending: () => new Promise(() => {}),
  timers: () =>
    new Promise((resolve) => {
      const order: string[] = [];
      const interval = setInterval(() => {
        order.push("interval");
        if (order.length < 3) return;
        clearInterval(interval);
        resolve(order.join());
      }, 4);
      setTimeout((name: string) => order.push(name), 6, "timeout");
      clearTimeout(setTimeout(() => order.push("cleared"), 1));
    }),
  leftTimer: () => {
    setTimeout(() => explode({ count: 4 }), 1);
    return "returned";
  },
  surrogates: () => "a\ud800b\udfff\u{1f600}\\ud800\\\ud800",
  nul: () => "a\0b",
  random: () => (random.length === 0 && atLoad !== Math.random() ? [Math.random(), Math.random()].join() : ""),
  text: () => {
    const bytes = new TextEncoder().encode("a\ud800€");
    return [bytes.join(), new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 65, 0xff])), "__bulkhead" in globalThis].join("|");
  },
  invalidText: () => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([0xff])),
  log: () => console.warn("text", { a: [1n] }, new TypeError("shown"), undefined),
  recursion: () => {
    const recurse = (): number => 1 + recurse();
    return recurse();
  },
  asynchronousRecursion: () => {
    const recurse = async (): Promise<unknown> => await recurse();
    return recurse();
  },
  nested: () => JSON.parse("[".repeat(100_000)),
};

plugin.tool("case", ({ name }: { name: string }) => cases[name]());
