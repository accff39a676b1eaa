// The client of the suite's client scenarios: `node client.ts direct|through legacy|modern URL`. `through` puts a gateway
// in this process between itself and the URL.
import { isObject, type JsonObject, objectAt } from '../../src/base/json.ts';
import { connectSdk, type SdkFace } from '../kit/sdk-clients.ts';
import { startGateway } from '../kit/start-gateway.ts';

const [way, era, url = ''] = process.argv.slice(2);
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const context: JsonObject = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}');

/** Accepts every form, each field with its default, true or nothing, and calls a tool of no concern meanwhile. */
async function accept(params: JsonObject, face: SdkFace | undefined): Promise<JsonObject> {
  if (scenario === 'sep-2322-client-request-state') {
    await face?.callTool('test_mrtr_unrelated');
  }
  const properties = objectAt(objectAt(params, 'requestedSchema'), 'properties') ?? {};
  const fields = Object.entries(properties).flatMap(([name, schema]) => {
    const { default: preset, type } = isObject(schema) ? schema : {};
    return preset === undefined && type !== 'boolean' ? [] : [[name, preset ?? true]];
  });
  return { action: 'accept', content: Object.fromEntries(fields) };
}

/** What is done in each scenario; in all others, what every client does first. */
const DEEDS: Readonly<Record<string, (face: SdkFace) => Promise<void>>> = {
  async tools_call(face) {
    await face.listTools();
    await face.callTool('add_numbers', { a: 5, b: 3 });
  },
  async 'elicitation-sep1034-client-defaults'(face) {
    await face.callTool('test_client_elicitation_defaults');
  },
  async 'sse-retry'(face) {
    await face.callTool('test_reconnection');
  },
  async 'sep-2322-client-request-state'(face) {
    await face.callTool('test_mrtr_echo_state');
    await face.callTool('test_mrtr_no_state');
    await face.callTool('test_mrtr_no_result_type');
  },
  async 'http-standard-headers'(face) {
    for (const tool of await face.listTools()) {
      await face.callTool(String(tool['name']));
    }
    for (const resource of await face.listResources()) {
      await face.readResource(String(resource['uri']));
    }
    for (const prompt of await face.listPrompts()) {
      await face.getPrompt(String(prompt['name']));
    }
  },
  async 'http-custom-headers'(face) {
    await face.listTools();
    for (const call of context['toolCalls'] as readonly JsonObject[]) {
      await face.callTool(String(call['name']), objectAt(call, 'arguments'));
    }
  },
  async 'http-invalid-tool-headers'(face) {
    for (const tool of await face.listTools()) {
      await face.callTool(String(tool['name']), { region: 'somewhere' });
    }
  },
  async 'json-schema-2020-12-preservation'(face) {
    const rich = (await face.listTools()).find(({ name }) => name === 'json_schema_2020_12_tool');
    await face.callTool('json_schema_echo', { schema: rich?.['inputSchema'] });
  },
};

async function drive(endpoint: string): Promise<void> {
  let face: SdkFace | undefined;
  const answers = { 'elicitation/create': (params: JsonObject) => accept(params, face) };
  const asks = ['elicitation-sep1034-client-defaults', 'sep-2322-client-request-state'].includes(scenario);
  const options = asks ? { capabilities: { elicitation: { form: {} } }, answers } : {};
  face = await connectSdk(era === 'legacy' ? 'v2-legacy' : 'v2-modern', { url: endpoint }, options);
  await using open = face;
  const deed = DEEDS[scenario] ?? (async () => void (await open.listTools()));
  await deed(open);
}

/** What an operator would configure who was given these credentials: the server names its authorization server. */
async function credentials(): Promise<object> {
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: clientKey } = context;
  if (clientId === undefined) {
    return {};
  }
  const metadata = await fetch(new URL(`/.well-known/oauth-protected-resource${new URL(url).pathname}`, url));
  const { authorization_servers: servers = [] } = (await metadata.json()) as {
    readonly authorization_servers?: readonly string[];
  };
  const held = clientKey === undefined ? { clientSecret } : { clientKey };
  return { credentials: { type: 'clientCredentials', issuer: servers[0], clientId, ...held } };
}

if (way === 'direct') {
  await drive(url);
} else {
  await using gateway = await startGateway({
    upstreams: {
      reference: { url, namespace: '', isolation: 'session', instructions: false, ...(await credentials()) },
    },
  });
  await gateway.gateway.settled();
  await drive(gateway.url);
}
