// Runs the steps of script.json with a client library: `node typescript1.mjs SERVER`, where SERVER is JSON:
// {"script": path, "version": "2025-06-18", "bare": false, "command": path, "args": […], "env": {…}, "cwd": path} or, instead of a
// command, {"url": URL, "headers": {…}}. A bare client declares no capabilities.
// Each step prints a line {"step": name, "got": result}.
// Without a script it makes the calls that it reads from stdin.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

// Signal collects what handlers receive, and lets a step wait for a number of items.
export class Signal {
  items = [];
  waiting = [];
  add(item) {
    this.items.push(item);
    this.waiting.forEach(check => check());
  }
  take(count) {
    return new Promise(resolve => {
      const check = () => this.items.length >= count && resolve(this.items.splice(0));
      this.waiting.push(check);
      check();
    });
  }
}

// Each function gets the adapter of a library and a step, and returns what the client got.
const actions = {
  server: c => c.server(),
  tools: async c => (await c.tools()).map(tool => tool.name),
  call: (c, s) => c.call(s.tool, s.arguments),
  async progress(c, s) {
    const notes = [];
    const result = await c.call(s.tool, s.arguments, { onprogress: p => notes.push(p) });
    return { ...result, progress: notes.map(p => [p.progress, p.total]) };
  },
  async log(c, s) {
    const result = await c.call(s.tool, s.arguments, { level: s.level });
    const messages = await c.messages.take(s.messages);
    return { ...result, messages: messages.map(m => [m.level, m.logger, m.data]) };
  },
  // A call is cancelled when it reports progress or, at a level, logs a message.
  async cancel(c, s) {
    const controller = new AbortController();
    let running = false;
    const stop = () => { running = true; controller.abort('enough'); };
    if (s.level) c.messages.take(1).then(stop);
    try {
      return await c.call(s.tool, s.arguments, { signal: controller.signal, ...(s.level ? { level: s.level } : { onprogress: stop }) });
    } catch (error) {
      return running ? 'cancelled' : describe(error);
    }
  },
  // A call as a task: how it ended, and what was asked meanwhile. A task is cancelled as soon as it exists, if the step says so.
  async task(c, s) {
    c.answers = s.answers ?? {};
    c.asked.length = 0;
    return { ...await c.task(s.tool, s.arguments, s.cancel), asked: [...c.asked] };
  },
  resources: async c => (await c.resources()).map(r => r.uri),
  templates: async c => (await c.templates()).map(t => t.uriTemplate),
  read: (c, s) => c.read(s.uri),
  async watch(c, s) {
    const stop = await c.watch(s.uri);
    await c.call(s.tool, s.arguments ?? {});
    const got = await c.changes.take(s.changes);
    await stop();
    return [...got].sort();
  },
  prompts: async c => (await c.prompts()).map(p => p.name),
  prompt: (c, s) => c.prompt(s.prompt, s.arguments),
  complete: (c, s) => c.complete(s.ref, s.argument, s.context),
  async ask(c, s) {
    c.answers = s.answers;
    c.asked.length = 0;
    const result = await c.call(s.tool, s.arguments ?? {});
    return { ...result, asked: [...c.asked].sort() };
  },
};

// answer answers a request of the server as the current step says.
export function answer(adapter, method) {
  adapter.asked.push(method);
  const { error, ...result } = adapter.answers[method];
  if (error) throw Object.assign(new Error(error.message), { code: error.code });
  return result;
}

export function pick(object, ...names) {
  return Object.fromEntries(names.filter(name => object?.[name] !== undefined).map(name => [name, object[name]]));
}

function describe(error) {
  return { error: error.code ?? error.name, message: error.message };
}

function timeout(seconds, name) {
  return new Promise((_, reject) => setTimeout(() => reject(new Error(`no end of ${name} within ${seconds} s`)), seconds * 1000).unref());
}

// Makes the calls {"tool": name, "arguments": {…}} of stdin, one a line. After an error the next call connects again, as programs do when their session has ended.
// With an error it prints the status of the last answer to a message, which libraries do not always tell.
async function serve(connect, server) {
  let adapter, status;
  const original = globalThis.fetch;
  globalThis.fetch = async (url, options) => {
    const response = await original(url, options);
    if (options?.method === 'POST') status = response.status;
    return response;
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const { tool, arguments: args } = JSON.parse(line);
    let got;
    status = undefined;
    try {
      adapter ??= await Promise.race([connect(server), timeout(10, 'connect')]);
      got = await Promise.race([adapter.call(tool, args), timeout(10, tool)]);
    } catch (error) {
      got = { ...describe(error), status };
      adapter?.close().catch(() => {}); // its connection may be lost
      adapter = undefined;
    }
    process.stdout.write(JSON.stringify({ step: tool, got }) + '\n');
  }
  process.exit(0);
}

export async function run(connect) {
  const server = JSON.parse(process.argv[2]);
  if (!server.script) return serve(connect, server);
  const steps = JSON.parse(readFileSync(server.script, 'utf8')).filter(step => Boolean(step.bare) === server.bare);
  const print = line => process.stdout.write(JSON.stringify(line) + '\n');
  try {
    const adapter = await Promise.race([connect(server), timeout(60, 'connect')]);
    for (const step of steps) {
      const got = await Promise.race([actions[step.do](adapter, step), timeout(30, step.name)]).catch(describe);
      print({ step: step.name, got });
    }
    await adapter.close();
    print({ step: 'close', got: 'closed' });
  } catch (error) {
    print({ step: 'connect', got: { ...describe(error), stack: error.stack } });
  }
  process.exitCode = 0;
  setTimeout(() => process.exit(0), 2000).unref();
}
