// The one Trusted Types policy of the page: addresses of its own two scripts.

const SCRIPTS = ["/worker.js", "/sw.js"] as const;
type ScriptPath = (typeof SCRIPTS)[number];

type ScriptPolicy = { createScriptURL(url: string): string };
type PolicyFactory = { createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy };

const factory = (window as unknown as { trustedTypes?: PolicyFactory }).trustedTypes;
const policy: ScriptPolicy = factory?.createPolicy("agenthost-worker", { createScriptURL: checkPath }) ?? {
  createScriptURL: checkPath,
};

/** The address of a script in the form that `Worker` and service workers accept. */
export function scriptUrl(path: ScriptPath): string {
  return policy.createScriptURL(path);
}

function checkPath(url: string): string {
  if (!(SCRIPTS as readonly string[]).includes(url)) {
    throw new TypeError(`not a script of the page: ${url}`);
  }
  return url;
}
