// Commands and data of customizations, and of the tokens that they require.

export type CustomizationKind = "plugin" | "directory" | "rule" | "skill" | "prompt" | "agent" | "hook" | "mcpServer";
export type CustomizationOrigin = "workspace" | "user" | "configuration" | "client" | "other";
export type DecisionScope = "session" | "workspace" | "global";
export type TokenLink = { label: string; url?: string };
export type TokenRequirement = {
  name: string;
  /** Identifier for `customization.signIn`; `address` is the one to be shown. */
  resource: string;
  address: string;
  description?: string;
  scopes: string[];
  authorizationServers: TokenLink[];
  documentation?: TokenLink;
  expired: boolean;
};
export type ServerState = "starting" | "ready" | "authRequired" | "error" | "stopped" | "unknown";
export type ServerRow = { state: ServerState; message?: string; blocking: boolean; tools?: number; requires?: TokenRequirement };
export type ContainerLoad = { state: "loading" | "loaded" | "degraded" | "error"; message?: string };
export type CodeState = "waiting" | "approved";
export type CustomizationRow = {
  key: string;
  kind: CustomizationKind;
  name: string;
  description?: string;
  path?: string;
  version?: string;
  origin?: CustomizationOrigin;
  client?: string;
  enabled: boolean;
  /** It can also be turned on and off in the folder and everywhere. */
  scoped: boolean;
  decided?: DecisionScope;
  load?: ContainerLoad;
  server?: ServerRow;
  code?: { state: CodeState; key: string };
  children: CustomizationRow[];
};
export type AgentTokens = { key: string; label: string; resources: { token: TokenRequirement; required: boolean }[] };
/** `value` of slice `customizations`, beside its keyed rows; `null` while the panel is closed. */
export type CustomizationsView = {
  /** Absent without a selected session. */
  session?: string;
  counts: { kind: CustomizationKind; count: number }[];
  waiting: number;
  total: number;
  hidden: number;
  agents: AgentTokens[];
  /** Resources for which this page has sent a token. */
  given: string[];
};

/** `loading` is an empty object. Hidden characters of `text` are escaped. */
export type CodeFile = { path: string; loading?: object; text?: string; error?: string };
export type CodeReview = {
  session: string;
  container: string;
  name: string;
  path?: string;
  origin?: CustomizationOrigin;
  client?: string;
  enabled: boolean;
  state: CodeState;
  key: string;
  hooks: string[];
  servers: string[];
  files: CodeFile[];
  status: "loading" | "complete" | "incomplete";
};
/** Slice `codeReview`. `review` is absent if the session does not have the code any more. */
export type ReviewView = { review?: CodeReview; isChanged: boolean };

/** Code of a session that waits for approval, in the inbox. */
export type CodeCard = { container: string; code: string; name: string; place: string; hooks: number; servers: number };

export type CustomizationCommand =
  | { op: "customization.watch"; filter: string; kind?: CustomizationKind }
  | { op: "customization.unwatch" }
  | { op: "customization.decide"; session: string; key: string; scope: DecisionScope; enabled: boolean }
  | {
      op:
        | "customization.startServer"
        | "customization.stopServer"
        | "customization.continueWithout"
        | "customization.review"
        | "customization.revoke";
      session: string;
      key: string;
    }
  | { op: "customization.closeReview" }
  | { op: "customization.allow"; code: string }
  | { op: "customization.deny" }
  | { op: "customization.signIn"; resource: string; token: string; expiresIn?: number }
  | { op: "customization.signOut"; resource: string };
