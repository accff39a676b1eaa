import { textOf } from '../gates/repository.ts';

interface Behind {
  readonly port: number;
}

/**
 * What nginx is given: the configuration that is shipped, with these replicas of which it may use some, and a header that
 * says which of them has answered.
 */
export function balancing(port: number, replicas: readonly Behind[], over: readonly Behind[]): string {
  const servers = replicas.map(
    (each) =>
      `server 127.0.0.1:${each.port} max_fails=1 fail_timeout=1s${over.includes(each) ? '' : ' down'};`,
  );
  const changes: readonly [string, string][] = [
    ['server replica:3333 max_fails=1 fail_timeout=1s;', servers.join(' ')],
    ['listen 8080;', `listen 127.0.0.1:${port};`],
    ['proxy_buffering off;', 'proxy_buffering off; add_header X-Replica $upstream_addr always;'],
  ];
  return changes.reduce((text, [shipped, here]) => {
    if (!text.includes(shipped)) {
      throw new Error(`config/cluster/nginx.conf does not say "${shipped}"`);
    }
    return text.replace(shipped, () => here);
  }, textOf('config/cluster/nginx.conf'));
}
