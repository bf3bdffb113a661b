// An MCP server over HTTP that needs a token, and another one for calls of its tool. It writes nothing down but counts.

import { createServer } from "node:http";

const TOOL = { name: "secret", description: "Says a secret", inputSchema: { type: "object" } };

/** Starts the server; `tokens` are the valid ones: `read` lists tools, `call` also calls them. */
export async function startTokenServer(tokens) {
  const server = createServer((request, response) => {
    const { origin } = server;
    const challenge = (status, error, scope) => {
      const metadata = `${origin}/.well-known/oauth-protected-resource`;
      response.writeHead(status, { "www-authenticate": `Bearer resource_metadata="${metadata}", scope="${scope}", ${error}` });
      response.end();
    };
    const reply = (value) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (request.url.startsWith("/.well-known/oauth-protected-resource")) {
      return reply({ resource: `${origin}/mcp`, resource_name: "Vault <b>of</b> secrets", authorization_servers: ["https://login.example/realm"] });
    }
    if (request.method !== "POST") {
      response.writeHead(405);
      return response.end();
    }
    let text = "";
    request.on("data", (part) => (text += part));
    request.on("end", () => {
      const { id, method, params } = JSON.parse(text);
      const token = request.headers.authorization?.replace("Bearer ", "");
      if (token !== tokens.read && token !== tokens.call) {
        return challenge(401, 'error_description="Ask the owner of the vault"', "vault:read");
      }
      if (method === "tools/call" && token !== tokens.call) {
        return challenge(403, 'error="insufficient_scope", error_description="Calls need more"', "vault:read vault:call");
      }
      if (id === undefined) {
        response.writeHead(202);
        return response.end();
      }
      const results = {
        initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "vault", version: "1" } }),
        "tools/list": () => ({ tools: [TOOL] }),
        "tools/call": () => ({ content: [{ type: "text", text: "the vault is open" }] }),
      };
      return reply({ jsonrpc: "2.0", id, result: results[method]?.() ?? {} });
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.origin = `http://127.0.0.1:${server.address().port}`;
  return { url: `${server.origin}/mcp`, close: () => new Promise((done) => server.close(done).closeAllConnections()) };
}
