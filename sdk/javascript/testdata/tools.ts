import {
  FileError, appendFile, env, exists, mkdir, plugin, projectDir, randomBytes, readDir, readFile, readText, remove, rename, sleep, stat,
  toBase64, writeFile,
} from "bulkhead-js";
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
  callbacks: () => {
    const replace = (): string => "a".replace("a", replace);
    return replace();
  },
  accessors: () => {
    const object = {
      get next(): unknown {
        return this.next;
      },
    };
    return object.next;
  },
  joined: () => {
    let array: unknown[] = [];
    for (let i = 0; i < 100_000; i++) array = [array];
    return String(array);
  },
  nestedResult: () => {
    let object = {};
    for (let i = 0; i < 100_000; i++) object = { object };
    return object;
  },
  objects: () => {
    const all: unknown[] = [];
    for (;;) all.push({ a: [all.length] });
  },
  bytes: () => {
    const all: unknown[] = [];
    for (;;) all.push(new Uint8Array(1 << 20));
  },
  nested: () => JSON.parse("[".repeat(100_000)),
};

/** Uses each function for files, and returns what each returned. */
cases.files = () => {
  const directory = `${projectDir()}/a/b`;
  const file = `${directory}/c.txt`;
  const code = (action: () => unknown) => {
    try {
      return action();
    } catch (error) {
      return error instanceof FileError ? error.code : error;
    }
  };
  mkdir(directory, { recursive: true });
  writeFile(file, "grün");
  appendFile(file, new Uint8Array([33, 255]));
  const { kind, size, modified } = stat(file);
  const results = [
    readText(file),
    [...readFile(file)].slice(-2),
    [kind, size, Math.abs(modified - Date.now()) < 3_600_000],
    readDir(`${projectDir()}/a`),
    code(() => mkdir(directory)),
    code(() => mkdir("a/b/d/e")),
    code(() => remove(directory)),
    code(() => readText(directory)),
    code(() => readText("/etc/passwd")),
    code(() => readText("a\0b")),
    code(() => writeFile("/outside", "")),
  ];
  rename(file, "moved");
  results.push([exists(file), exists("moved"), exists("moved/below"), exists(projectDir())]);
  writeFile("moved", "");
  results.push(readText(`${projectDir()}/moved`));
  remove("moved");
  remove(directory);
  for (let i = 0; i < 1500; i++) writeFile(`a/${String(i).padStart(60, "0")}`, ""); // more than one buffer of names
  const names = readDir("a").map(({ name }) => Number(name));
  results.push([names.length, names.every((name, i) => name === i)]);
  return results.map((result) => JSON.stringify(result)).join("\n");
};

cases.environment = () => [env("PWD") === projectDir(), env("NOT_SET"), env("BULKHEAD_PROJEC"), toBase64(randomBytes(9)).length].join();

cases.waits = () => {
  const start = Date.now();
  sleep(30);
  return String(Date.now() - start >= 30);
};

plugin.tool("case", ({ name }: { name: string }) => cases[name]());
