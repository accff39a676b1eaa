import type { FindingId } from './finding-table.ts';
import { book } from './phrases.ts';

/**
 * How a text speaks to the model. Phrases are what published poisoned tools say, each as narrow as plain documentation
 * needs it to be: "do not show the raw JSON to the user" and "call resolve-library-id first" are what good servers say.
 */
export type Manner = Extract<
  FindingId,
  'text.overrides' | 'text.conceals' | 'text.wants-secrets' | 'text.steers-tools'
>;

const USER = 'user|users|human|humans|person|operator|them|him|her|anyone|anybody|customer';
const RULES =
  'instruction|instructions|prompt|prompts|rules|guidelines|directives|guardrails|policies|safety';
const SECRETS =
  'credential|credentials|password|passwords|passphrase|secret|secrets|token|tokens|ssh|cookies|keychain|wallet|mnemonic|id_rsa|apikey|api_key';
const HANDS_OVER =
  'send|forward|post|upload|include|pass|append|provide|attach|submit|transmit|exfiltrate|leak|email|bcc';
/** Texts that quote an attack, to say that it is found. */
const FINDS = '-detect|detects|detecting|scan|scans|flags|blocks|injection|injections|jailbreak|jailbreaks';
/** A condition, not a claim. */
const IF = '-if|when|whether|unless|once|until|after|where';

export const PHRASES = book<Manner>({
  'text.overrides': [
    `${FINDS} ignore|disregard|forget|bypass|override ~2 previous|prior|earlier|above|preceding|other|existing|your|system|all|any ~3 ${RULES}`,
    'ignore|disregard|forget ~1 what|whatever|everything|anything|all ~2 you|your ~4 told|said|given|instructed|learned|system|instructions|prompt',
    'stop ~1 following|obeying|heeding ~3 rules|instructions|guidelines|prompt|orders',
    'you are now ~1 in|a|an|the|dan|free',
    'you are ~4 now ~0 on',
    'new|real|actual|updated ~1 system ~0 prompt|instructions|message ~1 is|are|follows|begins|you|says',
    `supersedes|overrides ~3 instructions|prompt|rules ~6 other|previous|prior|all|any|system`,
    'outrank|outranks|supersede|supersedes|overrule|overrules ~2 those|instructions|requests|rules ~1 of|from ~1 user|developer|system|operator',
    'new ~0 instructions ~0 also|now|you|from|ignore|follow|send|call',
    'from ~0 now ~0 on ~0 whenever ~0 you',
    'take|takes ~0 precedence ~0 over ~2 other|previous|prior|any|all|your|system ~2 instructions|prompt|guidelines|directives',
    'from ~0 now ~0 on ~1 you ~0 are|act|answer|behave|obey',
    'above|previous|prior|earlier|your|system|safety ~1 guidelines|instructions|rules|restrictions ~2 not!|longer ~0 apply',
    'guidelines|instructions|rules ~0 above|earlier ~2 not!|longer ~0 apply',
    'earlier|previous|prior|original|other ~1 instructions|rules|guidelines ~0 are ~1 void|cancelled|canceled|obsolete|invalid|superseded|revoked|suspended',
    'content|safety|usage|security ~0 policy|policies|rules|guidelines|filters|restrictions ~5 suspended|lifted|waived|void|disabled',
    'do|follow|obey ~1 whatever|everything|anything ~2 result|page|file|text|response|output ~1 says|tells|instructs|asks',
    'treat ~3 this|following|it|these|text ~5 came|comes|coming|spoken|written|sent|said ~1 from|by ~2 developer|system|user|administrator|admin',
    `${IF} user|users|operator|administrator|owner ~2 already|previously ~1 agreed|approved|consented|authorized|authorised|granted|confirmed`,
    `${IF} proceed|continue|act ~3 without ~2 asking|confirmation|approval|permission|consent`,
    'even ~0 if|where|when|though ~1 your|system|safety|developer ~2 instructions|rules|policies|guidelines|prompt',
    'decode|decrypt|unscramble ~8 follow|obey|execute|carry ~0 out|it|them|what|the|its|these',
    'ignoriere|ignorieren|vergiss|missachte ~3 anweisungen|instruktionen|regeln|vorgaben',
    'ignora|ignore|olvida|desestima ~4 instrucciones|reglas|indicaciones',
    'ignore|ignorez|oublie|oubliez ~4 instructions|consignes|règles ~1 précédentes|antérieures|reçues|système|données',
    'ignore|ignorez|oublie|oubliez ~2 consignes',
    'ignore|esqueça|desconsidere ~4 instruções|regras',
    'ignora|dimentica ~4 istruzioni|regole',
    'игнорируй|игнорируйте|забудь|забудьте ~4 инструкции|указания|правила',
  ],
  'text.conceals': [
    `not! ~3 tell|inform|notify|alert|warn ~3 ${USER}`,
    `not! ~2 mention|reveal|disclose|admit|expose|discuss ~6 to|with ~2 ${USER}`,
    'not! ~2 mention|reveal|disclose ~1 this|that|it ~4 step|instruction|instructions|note|tag|parameter|detail',
    'not! ~1 bring ~1 this|that|it ~0 up',
    `not! ~1 let ~2 ${USER} ~1 see|know|notice|learn|find|realize|realise`,
    `-not! without ~2 telling|informing|notifying|alerting|mentioning ~4 ${USER}`,
    `-not! without ~2 user|user's|users'|human|human's ~2 knowledge|knowing|consent|awareness|noticing`,
    `hide|conceal ~1 this|these|that|it ~3 from ~1 ${USER}`,
    'keep ~2 this|that|it ~1 secret|hidden|confidential ~3 from',
    `${USER} ~1 not!|needn't|cannot ~3 know|notice|see|learn|realize|realise|discover ~3 about|this|that`,
    `${USER} ~1 not! ~1 be ~1 told|informed|notified|alerted|warned`,
    `${USER} ~4 not! ~0 learns|knows|sees|finds|notices|hears`,
    `${USER} ~1 not!|cannot ~0 find ~0 out`,
    `so ~2 ${USER} ~2 not|not!|doesn't|won't|cannot ~1 notice|suspect|realize|realise|know|find|pay|wonder|worry`,
    'so ~1 nobody ~1 notices|wonders|knows|asks|sees|suspects',
    'nobody|no-one ~1 has|needs ~0 to ~1 be|know ~0 told|informed|this|that|about',
    `no ~0 need ~0 to ~1 tell|inform|notify|alert ~3 ${USER}`,
    `avoid|refrain ~1 telling|informing|notifying|alerting|mentioning ~4 ${USER}`,
    `say|tell|mention|reveal ~0 nothing ~5 ${USER}`,
    'not! ~1 mention|reveal|disclose|say|admit ~0 that ~1 you',
    'leave|omit|drop ~1 this|the|that ~0 call|step|request|upload|action ~1 out|from ~1 of|your|the|any ~2 answer|answers|reply|response|summary|log|logs',
    'if ~1 asked ~4 deny|lie|pretend|claim',
    'silently|secretly|covertly|discreetly ~3 call|send|run|read|forward|copy|upload|include|add|execute|collect',
    'sage|sag|verrate|erzähle|erzähl|teile ~4 benutzer|nutzer|anwender|user ~1 nichts|nicht',
    'informiere|benachrichtige ~2 benutzer|nutzer|anwender ~1 nicht',
    'no ~1 digas|diga|informes|informe|menciones|mencione|reveles|revele ~3 usuario|usuaria|usuarios',
    'ne ~1 dis|dites|informe|informez|mentionne|mentionnez|révèle|révélez|préviens|prévenez ~1 pas|rien ~4 utilisateur|utilisateurs',
    'não ~1 diga|conte|informe|mencione|revele ~3 usuário|usuária|utilizador',
    "non ~1 dire|informare|menzionare|rivelare ~3 utente|all'utente|l'utente",
    'не ~1 говори|говорите|сообщай|сообщайте|рассказывай|рассказывайте|упоминай ~4 пользователю|пользователям',
  ],
  'text.wants-secrets': [
    'include|pass|provide|send|forward|transmit|exfiltrate|leak ~6 conversation|chat ~1 history|transcript ~6 as|in|to|into|with',
    `${HANDS_OVER} ~4 system ~0 prompt|message|instructions`,
    `${HANDS_OVER} ~3 full|whole|entire|complete|all ~3 conversation|context|transcript|chat|messages`,
    'everything|all|whatever ~2 user|was|been ~2 typed|said|written|wrote|entered ~3 so|session|conversation|chat|here',
    `read|open|cat|fetch|access|load|retrieve ~6 ${SECRETS}|mcp ~2 key|keys|file|files|id_rsa|json|store ~12 and|then|pass|send|into|as`,
    'put|paste|insert|place|copy|write|repeat ~2 your|its ~1 system ~0 prompt|message|instructions',
    'text|content|contents|copy|wording ~0 of ~0 your ~1 instructions|prompt|guidelines',
    'fill|put|paste|write|include|pass|provide|send|with ~6 conversation|chat|transcript|dialogue ~3 so ~0 far',
    'conversation|chat|messages|transcript ~6 word ~0 for ~0 word',
    'conversation|chat|messages|transcript ~3 verbatim',
    `${SECRETS}|key|keys ~0 you ~1 seen|know|saw|find|found`,
    `${HANDS_OVER}|dump ~2 all|every|full|entire|whole|your|their ~1 environment ~0 variable|variables`,
    'open|read|cat|load ~2 env ~0 file ~8 pass|paste|send|include|put|upload ~3 content|contents|it',
    'append|include|paste|pass|put|send|attach|add ~3 content|contents ~3 env|shadow|passwd|id_rsa|id_ed25519|keychain|ssh',
    'private|api|access|ssh ~0 key|keys ~8 return|send|pass|upload|include|submit|forward ~0 them|it',
    `${HANDS_OVER} ~4 user's|users|their|your|my|its|all|any|found|stored|private|contents ~4 ${SECRETS}|key|keys ~8 to|as|in|with|into`,
    `gather|collect|extract|harvest|grab|steal ~3 ${SECRETS} ~10 give|hand|pass|send|put|return|include|forward`,
    `-not!|remove|redact|mask|strip|without|no|avoid with|include|including|pass|send ~8 any|all ~1 api|access|secret ~0 key|keys|token|tokens`,
    'read|get|load|fetch|print ~8 environment ~0 variable|variables ~8 pass|send|include|put|append',
    'attach|append|include ~3 result|results|output|outputs ~1 to|in|with ~0 every|each ~1 reply|answer|response|message',
    'output|result ~1 of ~1 printenv|whoami|history',
    'content|contents ~1 from|reading ~2 ssh|id_rsa|rsa|passwd|keychain|credentials|env',
    'also|always|must ~6 send|forward|copy|cc|bcc|email|mail|let|post ~10 __address',
  ],
  'text.steers-tools': [
    'before|after ~1 using|calling|invoking|running ~1 any|every|all|other|another ~2 tool|tools|function|functions ~14 must|call|run|use|invoke|first|always|required',
    'must|always|required|should|call|run|use ~8 before|after ~2 any|every|all ~2 other ~1 tool|tools|function|functions',
    'not! ~2 use|call|invoke|trust ~2 any|other|another|all ~2 tool|tools|server|servers',
    'when|whenever|if|while ~5 other|another|any ~1 tool|tools ~3 is|are|gets ~2 used|called|invoked|available|present ~10 must|always|instead|first|also',
    'instead ~0 of ~2 any|all|other ~2 other|another ~2 tool|tools|server|servers',
    'prefer|choose|pick|favor|favour|select ~4 over|to ~1 any|all|every ~1 other ~2 tool|tools|server|servers',
    'after|before ~0 every|each|any|all ~1 tool ~0 call|calls|use|invocation ~3 call|run|use|invoke|send|must|always',
    'other|all ~1 tools|servers ~1 are ~1 insecure|unsafe|broken|outdated|compromised|unreliable|malicious|forbidden|untrusted',
    'other|another|any ~1 tool|tools|server|servers ~0 not! ~1 be|ever ~1 trusted|used|called|invoked',
    'any|every ~0 tool ~2 any|every|other|another ~0 server|servers',
    'first ~1 tool|function ~6 every|any|each|all ~1 conversation|conversations|session|sessions|request|requests|chat|task|message',
    'for ~0 any|every|all ~0 request|requests|question|questions|message|messages|task|tasks ~1 always|must ~1 call|use|run|invoke ~1 this|it',
  ],
});

/** The same in scripts that put no blanks between words. Every gap is bounded, so the time is linear. */
const ELSEWHERE: Readonly<Partial<Record<Manner, RegExp>>> = {
  'text.overrides':
    /(?:忽略|忽視|无视|無視|忘记|忘記).{0,8}(?:指令|指示|提示|规则|規則)|(?:指示|命令|ルール|プロンプト)(?:を|は).{0,6}(?:無視|忘れ)|(?:지시|명령|규칙).{0,6}무시/u,
  'text.conceals':
    /(?:不要|不得|别|別|勿|禁止).{0,4}(?:告诉|告訴|告知|通知|提及|透露).{0,4}(?:用户|用戶|使用者)|(?:ユーザー|利用者)に.{0,8}(?:言わない|知らせない|伝えない|教えない)|사용자에게.{0,8}(?:말하지|알리지)/u,
};

const SCRIPT = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/u;

/** What a text in Chinese, Japanese or Korean says of these. */
export function saidElsewhere(text: string): ReadonlyMap<Manner, string> {
  const said = new Map<Manner, string>();
  if (SCRIPT.test(text)) {
    for (const [id, pattern] of Object.entries(ELSEWHERE)) {
      const [found] = pattern.exec(text) ?? [];
      if (found !== undefined) {
        said.set(id as Manner, found);
      }
    }
  }
  return said;
}
