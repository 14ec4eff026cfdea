// The adapter of @modelcontextprotocol/sdk, version 1.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { Signal, answer, pick, run } from './script.mjs';

async function connect(server) {
  const adapter = { messages: new Signal(), changes: new Signal(), asked: [], answers: {} };
  const client = new Client({ name: 'typescript-1', version: '1' }, { capabilities: server.bare ? {} : { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } });
  client.setNotificationHandler(types.LoggingMessageNotificationSchema, n => adapter.messages.add(n.params));
  client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, n => adapter.changes.add(n.params.uri));
  client.setNotificationHandler(types.ResourceListChangedNotificationSchema, () => adapter.changes.add('resources'));
  client.setNotificationHandler(types.PromptListChangedNotificationSchema, () => adapter.changes.add('prompts'));
  for (const schema of server.bare ? [] : [types.ElicitRequestSchema, types.CreateMessageRequestSchema, types.ListRootsRequestSchema]) {
    client.setRequestHandler(schema, request => answer(adapter, request.method));
  }
  const transport = server.url ? new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: server.headers ?? {} } })
    : new StdioClientTransport({ command: server.command, args: server.args, env: server.env, cwd: server.cwd, stderr: 'inherit' });
  // The library always requests its latest version: the request is changed on its way, and the response tells the library.
  let version;
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (message.method === 'initialize' && server.version) message.params.protocolVersion = server.version;
    return send(message, options);
  };
  const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = negotiated => {
    version = negotiated;
    setProtocolVersion?.(negotiated);
  };
  await client.connect(transport);
  return Object.assign(adapter, {
    server: () => ({ ...pick(client.getServerVersion(), 'name'), version }),
    tools: async () => (await client.listTools()).tools,
    async call(name, args, { level, ...options } = {}) {
      if (level) await client.setLoggingLevel(level);
      return pick(await client.callTool({ name, arguments: args }, undefined, options), 'content', 'structuredContent', 'isError');
    },
    resources: async () => (await client.listResources()).resources,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: async uri => (await client.readResource({ uri })).contents,
    async watch(uri) {
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
