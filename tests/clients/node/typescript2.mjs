// The adapter of @modelcontextprotocol/client, version 2.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { Signal, answer, pick, run } from './script.mjs';

const modern = '2026-07-28';

const questions = { elicitation: 'elicitation/create', sampling: 'sampling/createMessage', roots: 'roots/list' };

// rawRequests returns a function that sends requests over the transport of a client. The library of tasks needs it, since the client knows no
// results of tasks.
function rawRequests(transport) {
  const waiting = new Map();
  const deliver = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const resolve = waiting.get(message.id);
    if (!resolve || message.method) return deliver(message, extra);
    waiting.delete(message.id);
    resolve(message.error ? { kind: 'error', error: message.error } : { kind: 'result', result: message.result });
  };
  let last = 0;
  return request => new Promise((resolve, reject) => {
    const id = `raw-${++last}`;
    waiting.set(id, resolve);
    transport.send({ jsonrpc: '2.0', id, ...request }).catch(reject);
  });
}

async function connect(server) {
  const adapter = { messages: new Signal(), changes: new Signal(), asked: [], answers: {} };
  const version = server.version === modern ? { versionNegotiation: { mode: { pin: modern } } } :
    server.version ? { supportedProtocolVersions: [server.version] } : { versionNegotiation: { mode: 'auto' } };
  const info = { name: 'typescript-2', version: '1' };
  const capabilities = server.bare ? {} : { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
  const client = new Client(info, { capabilities, ...version });
  client.setNotificationHandler('notifications/message', n => adapter.messages.add(n.params));
  client.setNotificationHandler('notifications/resources/updated', n => adapter.changes.add(n.params.uri));
  client.setNotificationHandler('notifications/resources/list_changed', () => adapter.changes.add('resources'));
  client.setNotificationHandler('notifications/prompts/list_changed', () => adapter.changes.add('prompts'));
  for (const method of server.bare ? [] : ['elicitation/create', 'sampling/createMessage', 'roots/list']) {
    client.setRequestHandler(method, () => answer(adapter, method));
  }
  const transport = server.url ? new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: server.headers ?? {} } })
    : new StdioClientTransport({ command: server.command, args: server.args, env: server.env, cwd: server.cwd, stderr: 'inherit' });
  await client.connect(transport);
  const isModern = client.getProtocolEra() === 'modern';
  return Object.assign(adapter, {
    server: () => ({ ...pick(client.getServerVersion(), 'name'), version: client.getNegotiatedProtocolVersion() }),
    tools: async () => (await client.listTools()).tools,
    async call(name, args, { level, ...options } = {}) {
      if (level && !isModern) await client.setLoggingLevel(level);
      const meta = level && isModern ? { _meta: { 'io.modelcontextprotocol/logLevel': level } } : {};
      return pick(await client.callTool({ name, arguments: args, ...meta }, options), 'content', 'structuredContent', 'isError');
    },
    async task(name, args, cancelled) {
      adapter.rawDispatch ??= rawRequests(transport);
      const session = createTaskSessionFromClient(client, {
        endpointId: 'server', rawDispatch: adapter.rawDispatch, v2RequestFraming: { protocolVersion: modern, clientInfo: info, clientCapabilities: capabilities },
        onInputRequest: async ({ kind }) => answer(adapter, questions[kind]),
      });
      try {
        const execution = await session.callTool(name, args);
        if (cancelled) await execution.cancel();
        const { outcome } = await execution.settle();
        const { status, result, error } = outcome;
        return { kind: execution.kind, status, ...pick(result, 'content', 'structuredContent', 'isError'), ...pick(error, 'code') };
      } finally {
        await session.close();
      }
    },
    resources: async () => (await client.listResources()).resources,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: async uri => (await client.readResource({ uri })).contents,
    async watch(uri) {
      if (isModern) {
        const subscription = await client.listen({ resourceSubscriptions: [uri], resourcesListChanged: true, promptsListChanged: true });
        return () => subscription.close();
      }
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages,
    complete: async (ref, argument, context) => (await client.complete({ ref, argument, context })).completion.values,
    close: () => client.close(),
  });
}

await run(connect);
