import { createPolicy, type Subject } from '../../../src/access/policy.ts';
import { createPrincipal, type Principal } from '../../../src/access/principal.ts';
import { parse } from '../config/kit.ts';

/** Somebody who signed in. */
export function person(about: Partial<Pick<Principal, 'id' | 'groups' | 'scopes'>> = {}): Principal {
  const { id = 'somebody', groups = [], scopes = [] } = about;
  const issuer = 'https://issuer.test';
  const key = JSON.stringify([issuer, id]);
  return createPrincipal({ key, id, issuer, groups, scopes, expires: undefined, presented: undefined });
}

/** The policy of a configuration with these rules, as its file has them. */
export function policyOf(
  rules: string,
  upstreams = '{files: {url: "http://h/mcp"}, web: {url: "http://w/mcp"}}',
) {
  return createPolicy(parse(`access: ${rules}\nupstreams: ${upstreams}`).settings);
}

const KINDS = {
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
  template: 'templates',
  method: 'methods',
} as const;

/** `tool files.read`, `resource files.file:///a`: what rules are asked about. */
export function subject(text: string, annotations?: unknown): Subject {
  const [kind = '', ...rest] = text.split(' ');
  const identity = rest.join(' ');
  const dot = identity.indexOf('.');
  return {
    kind: KINDS[kind as keyof typeof KINDS],
    upstream: identity.slice(0, dot),
    original: identity.slice(dot + 1),
    ...(annotations === undefined ? {} : { item: { name: identity.slice(dot + 1), annotations } }),
  };
}
