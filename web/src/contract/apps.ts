// Commands and data of MCP Apps.

/** Result of `app.open`. The HTML is text or base64; domains are host names, `wss` ones in `socket`. */
export type AppDocument = {
  text?: string;
  base64?: string;
  connect: string[];
  socket: string[];
  resource: string[];
  /** Number of declared domains that the frame does not allow. */
  ignored: number;
};
/** Result of `app.call`: the tool call as its app gets it. */
export type AppCall = {
  input?: Record<string, unknown>;
  result?: unknown;
  cancelled: boolean;
  servesTools: boolean;
};
/** Result of `app.request`: the answer of the server. */
export type AppReply = { result: unknown } | { error: { code: number; message: string } };
export type AppMethod = "tools/list" | "tools/call" | "resources/read";

export type AppCommand =
  | { op: "app.open" | "app.call"; turn: string; call: string }
  | { op: "app.request"; turn: string; call: string; method: AppMethod; params: Record<string, unknown> };
