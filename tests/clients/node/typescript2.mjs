// The adapter of @modelcontextprotocol/client, version 2.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Signal, answer, pick, run } from './script.mjs';

const modern = '2026-07-28';

async function connect(server) {
  const adapter = { messages: new Signal(), changes: new Signal(), asked: [], answers: {} };
  const version = server.version === modern ? { versionNegotiation: { mode: { pin: modern } } } :
    server.version ? { supportedProtocolVersions: [server.version] } : { versionNegotiation: { mode: 'auto' } };
  const client = new Client({ name: 'typescript-2', version: '1' }, {
    capabilities: server.bare ? {} : { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }, ...version,
  });
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
