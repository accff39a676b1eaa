import { globSync } from 'node:fs';
import type { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import type { StatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import type { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import type { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import type { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import type { Service } from 'kubernetes-models/v1/Service';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { parseSettings } from '../../src/config/load.ts';
import { ROOT, textOf } from '../gates/repository.ts';

/** The manifests of docs/kubernetes, against the schemas of Kubernetes and against each other. */

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const files = globSync('docs/kubernetes/*.yaml', { cwd: ROOT }).toSorted();
const manifests = files.flatMap((file) =>
  parseAllDocuments(textOf(file)).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Manifest;
  }),
);
const named = manifests.map((each) => [`${each.kind} ${each.metadata.name}`, each] as const);

function find<T>(name: string): T {
  const [, found] = named.find(([known]) => known === name) ?? [];
  return (found ?? expect.unreachable(`there is no ${name}`)) as T;
}

const env = {
  PATCHBAY_SEALING_KEY: Buffer.alloc(32, 7).toString('base64'),
  PATCHBAY_STATE_PASSWORD: 'a password of the state',
};
const settings = () =>
  parseSettings(find<ConfigMap>('ConfigMap patchbay').data?.['gateway.yaml'] ?? '', {
    file: '/etc/patchbay/gateway.yaml',
    env,
    readFile: () => '',
    overrides: { host: '0.0.0.0' },
  }).settings;
const seconds = (ms: number) => ms / 1_000;

describe('docs/kubernetes', () => {
  it.each(named)('has a %s that fits its schema', async (_, manifest) => {
    const path = `kubernetes-models/${manifest.apiVersion}/${manifest.kind}`;
    const module = (await import(path)) as Record<string, new (data: object) => { validate(): void }>;
    const Model = module[manifest.kind] ?? expect.unreachable(path);
    const model = new Model(manifest);
    expect(() => model.validate()).not.toThrow();
  });

  it('configures a gateway that there can be several of', () => {
    const { state, sealingKey, auth } = settings();
    expect(state).toMatchObject({ type: 'redis', password: env.PATCHBAY_STATE_PASSWORD });
    expect(sealingKey).toBe(env.PATCHBAY_SEALING_KEY);
    expect(auth.mode).toBe('jwt');
    const { name } = find<Service>('Service patchbay-state').metadata ?? {};
    expect(new URL(state.url ?? '').hostname).toBe(name);
  });

  it('asks its replicas where they are asked, and gives them the time that they need to end', () => {
    const { template } = find<Deployment>('Deployment patchbay').spec ?? expect.unreachable();
    const [container] = template.spec?.containers ?? [];
    const { startupProbe, livenessProbe, readinessProbe, lifecycle, ports } = container ?? {};
    expect([startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet?.path)).toEqual([
      '/healthz',
      '/healthz',
      '/readyz',
    ]);
    expect(ports).toEqual([{ name: 'http', containerPort: 3333 }]);
    const [word, wait = '0'] = lifecycle?.preStop?.exec?.command ?? [];
    expect(word).toBe('sleep');
    const { grace } = settings().shutdown;
    const needed = Number(wait) + 2 * seconds(grace);
    expect(template.spec?.terminationGracePeriodSeconds).toBeGreaterThan(needed);
    // A pod that goes is taken out of the Service before it stops to accept.
    expect(Number(wait)).toBeGreaterThanOrEqual(5);
  });

  it.each(['Deployment patchbay', 'StatefulSet patchbay-state'])(
    'lets %s do nothing that it need not',
    (name) => {
      const { template } = find<Deployment | StatefulSet>(name).spec ?? expect.unreachable();
      const { containers = [], securityContext, automountServiceAccountToken } = template.spec ?? {};
      expect(automountServiceAccountToken).toBe(false);
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      for (const container of containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.image).toMatch(/:\d+(?:[.-][\w.-]+)?$/);
        expect(container.resources).toMatchObject({
          requests: {},
          limits: { memory: expect.any(String) as string },
        });
        // Secrets come from where secrets are.
        for (const { value } of container.env ?? []) {
          expect(value).toBeUndefined();
        }
      }
      const pods = template.metadata?.labels ?? {};
      expect(find<Deployment | StatefulSet>(name).spec?.selector.matchLabels).toEqual(pods);
    },
  );

  it('selects the pods that there are, everywhere', () => {
    const labels = (name: string) => ({ 'app.kubernetes.io/name': name });
    for (const name of ['patchbay', 'patchbay-state']) {
      expect(find<Service>(`Service ${name}`).spec?.selector).toEqual(labels(name));
      expect(find<NetworkPolicy>(`NetworkPolicy ${name}`).spec?.podSelector?.matchLabels).toEqual(
        labels(name),
      );
    }
    const budget = find<PodDisruptionBudget>('PodDisruptionBudget patchbay').spec;
    expect(budget?.selector?.matchLabels).toEqual(labels('patchbay'));
    const { scaleTargetRef, minReplicas } =
      find<HorizontalPodAutoscaler>('HorizontalPodAutoscaler patchbay').spec ?? {};
    expect(scaleTargetRef).toEqual({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'patchbay' });
    expect(minReplicas).toBeGreaterThanOrEqual(2);
    // Any replica serves any request.
    expect(find<Service>('Service patchbay').spec?.sessionAffinity).toBeUndefined();
  });
});
