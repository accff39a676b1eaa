import type { HeaderMap } from '../protocol/headers.ts';
import { ANONYMOUS, type Principal } from './principal.ts';

/** From a request's headers to who asks. Throws a GatewayError where credentials are wanted and do not hold. */
export type Authenticate = (headers: HeaderMap) => Promise<Principal>;

/** `auth.mode: none`: everybody is anonymous. The configuration refuses it off loopback unless told otherwise. */
export const anybody: Authenticate = async () => ANONYMOUS;
