import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type ElicitInputParams,
  type InputRequest,
  type InputResponseView,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isObject, type JsonObject } from '../../src/base/json.ts';
import { said, strings } from './fixture-content.ts';

/**
 * What the suite expects by name and that asks the client something. Each is written once and serves both eras: where
 * the client speaks the `initialize` era, the SDK turns an unfinished result into requests on the stream of the call.
 */

interface State {
  readonly step: number;
}

/** Signs what goes through the client, so that a changed state is refused. */
export const states = createRequestStateCodec<State>({ key: 'the key of a fixture, no secret at all' });

const form = (message: string, properties: JsonObject, required = Object.keys(properties)) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties, required } as ElicitInputParams['requestedSchema'],
  });

const sample = (text: string, maxTokens = 100) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens });

const NAME = form('What is your name?', { name: { type: 'string' } });
const CONFIRM = form('Please confirm', { ok: { type: 'boolean' } });

const DEFAULTS = {
  name: { type: 'string', description: 'User name', default: 'John Doe' },
  age: { type: 'integer', description: 'User age', default: 30 },
  score: { type: 'number', description: 'User score', default: 95.5 },
  status: {
    type: 'string',
    description: 'Status',
    enum: ['active', 'inactive', 'pending'],
    default: 'active',
  },
  verified: { type: 'boolean', description: 'Verified', default: true },
};

const titled = (words: readonly string[]) =>
  words.map((word, index) => ({ const: `value${index + 1}`, title: `${word} Option` }));
const UNTITLED = ['option1', 'option2', 'option3'];
const ENUMS = {
  untitledSingle: { type: 'string', description: 'One of three', enum: UNTITLED },
  titledSingle: { type: 'string', description: 'One of three', oneOf: titled(['First', 'Second', 'Third']) },
  legacyEnum: {
    type: 'string',
    description: 'One of three',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', description: 'Any of them', items: { type: 'string', enum: UNTITLED } },
  titledMulti: {
    type: 'array',
    description: 'Any of them',
    items: { anyOf: titled(['First', 'Second', 'Third']) },
  },
};

/** Capabilities that the client of this very request declared. */
function declared(server: McpServer, context: ServerContext): JsonObject {
  const envelope: JsonObject | undefined = context.mcpReq.envelope;
  const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities();
  return isObject(capabilities) ? capabilities : {};
}

/** The answer under a key, or undefined where it is missing or of another kind. */
function answer<Kind extends InputResponseView['kind']>(context: ServerContext, key: string, kind: Kind) {
  const view = inputResponse(context.mcpReq.inputResponses, key);
  return view.kind === kind ? (view as Extract<InputResponseView, { kind: Kind }>) : undefined;
}

const ask = (inputRequests: Record<string, InputRequest>) => inputRequired({ inputRequests });

const askWith = async (inputRequests: Record<string, InputRequest>, state: State) =>
  inputRequired({ inputRequests, requestState: await states.mint(state) });

export function addQuestions(server: McpServer): void {
  addElicitations(server);
  addKinds(server);
  addStates(server);
  addChecks(server);
}

function addElicitations(server: McpServer): void {
  server.registerTool(
    'test_elicitation',
    { description: 'Asks for a name and an address', inputSchema: strings('message') },
    ({ message }, context) => {
      const given = answer(context, 'user', 'elicit');
      const fields = { username: { type: 'string' }, email: { type: 'string' } };
      return given === undefined
        ? ask({ user: form(message, fields) })
        : said(`User response: action=${given.action}, content=${JSON.stringify(given.content ?? {})}`);
    },
  );
  const forms = { test_elicitation_sep1034_defaults: DEFAULTS, test_elicitation_sep1330_enums: ENUMS };
  for (const [name, fields] of Object.entries(forms)) {
    server.registerTool(name, { description: 'Asks with a form' }, (context) => {
      const given = answer(context, 'form', 'elicit');
      return given === undefined
        ? ask({ form: form('Please review the form', fields, []) })
        : said(
            `Elicitation completed: action=${given.action}, content=${JSON.stringify(given.content ?? {})}`,
          );
    });
  }
  server.registerTool(
    'test_streaming_elicitation',
    { description: 'Asks while it streams' },
    async (context) => {
      await context.mcpReq.log('debug', 'about to ask');
      return answer(context, 'user', 'elicit') === undefined ? ask({ user: NAME }) : said('answered');
    },
  );
  server.registerTool(
    'test_input_required_result_elicitation',
    { description: 'Asks for a name' },
    (context) => {
      const given = acceptedContent<{ name?: unknown }>(context.mcpReq.inputResponses, 'user_name');
      return typeof given?.name === 'string' ? said(`Hello, ${given.name}!`) : ask({ user_name: NAME });
    },
  );
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Asks for context' },
    (context) => {
      const given = acceptedContent<{ context?: unknown }>(context.mcpReq.inputResponses, 'user_context');
      if (given === undefined) {
        return ask({
          user_context: form('What context should the prompt use?', { context: { type: 'string' } }),
        });
      }
      const text = `Use this context: ${String(given.context)}`;
      return { messages: [{ role: 'user', content: { type: 'text', text } }] };
    },
  );
}

function addKinds(server: McpServer): void {
  server.registerTool(
    'test_sampling',
    { description: 'Asks the model of the client', inputSchema: strings('prompt') },
    ({ prompt }, context) => {
      const given = answer(context, 'model', 'sampling');
      return given === undefined
        ? ask({ model: sample(prompt) })
        : said(`LLM response: ${JSON.stringify(given.result.content)}`);
    },
  );
  server.registerTool(
    'test_input_required_result_sampling',
    { description: 'Asks for a capital' },
    (context) => {
      const given = answer(context, 'capital_question', 'sampling');
      return given === undefined
        ? ask({ capital_question: sample('What is the capital of France?') })
        : said(JSON.stringify(given.result.content));
    },
  );
  server.registerTool(
    'test_input_required_result_list_roots',
    { description: 'Asks for roots' },
    (context) => {
      const given = answer(context, 'client_roots', 'roots');
      return given === undefined
        ? ask({ client_roots: inputRequired.listRoots() })
        : said(given.roots.map(({ uri }) => uri).join(', '));
    },
  );
}

function addStates(server: McpServer): void {
  const confirmed = {
    test_input_required_result_request_state: 'state-ok',
    test_input_required_result_tampered_state: 'ok',
  };
  for (const [name, done] of Object.entries(confirmed)) {
    server.registerTool(name, { description: 'Asks with a signed state' }, (context) =>
      context.mcpReq.requestState<State>() !== undefined && answer(context, 'confirm', 'elicit') !== undefined
        ? said(done)
        : askWith({ confirm: CONFIRM }, { step: 1 }),
    );
  }
  server.registerTool(
    'test_input_required_result_multiple_inputs',
    { description: 'Asks three things' },
    (context) => {
      const answered =
        answer(context, 'user_name', 'elicit') !== undefined &&
        answer(context, 'greeting', 'sampling') !== undefined &&
        answer(context, 'client_roots', 'roots') !== undefined;
      const questions = {
        user_name: NAME,
        greeting: sample('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      };
      return answered ? said('all answered') : askWith(questions, { step: 1 });
    },
  );
  server.registerTool('test_input_required_result_multi_round', { description: 'Asks twice' }, (context) => {
    const step = context.mcpReq.requestState<State>()?.step ?? 0;
    if (step === 1 && answer(context, 'step1', 'elicit') !== undefined) {
      const color = form('Step 2: What is your favorite color?', { color: { type: 'string' } });
      return askWith({ step2: color }, { step: 2 });
    }
    return step === 2 && answer(context, 'step2', 'elicit') !== undefined
      ? said('both rounds answered')
      : askWith({ step1: form('Step 1: What is your name?', { name: { type: 'string' } }) }, { step: 1 });
  });
}

function addChecks(server: McpServer): void {
  // Asks whatever the client declared: the SDK refuses to put a question to a client that cannot answer it.
  server.registerTool('test_missing_capability', { description: 'Needs sampling' }, (context) =>
    answer(context, 'model', 'sampling') === undefined ? ask({ model: sample('Hello') }) : said('answered'),
  );
  server.registerTool(
    'test_input_required_result_capabilities',
    { description: 'Asks what it may' },
    (context) => {
      const { elicitation, sampling } = declared(server, context);
      const questions = {
        ...(isObject(elicitation) ? { user_name: NAME } : {}),
        ...(isObject(sampling) ? { greeting: sample('Generate a greeting') } : {}),
      };
      const open = Object.keys(questions).filter(
        (key) => inputResponse(context.mcpReq.inputResponses, key).kind === 'missing',
      );
      return open.length === 0 ? said('nothing left to ask') : ask(questions);
    },
  );
}
