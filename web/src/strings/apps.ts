// Texts of MCP Apps.

export const apps = {
  open: "Open app",
  openOf: (server: string) => `Open app of ${server}`,
  of: (server: string) => `App of ${server}`,
  loading: "Loading the app…",
  close: "Close app",
  frame: (title: string, server: string) => `${title}, app of ${server}`,
  failed: (reason: string) => `The app is not shown: ${reason}`,
  again: "Open again",
  domainsQuestion: (server: string) => `The app of ${server} uses other servers. They see your address and what the app sends them.`,
  connects: "Sends data to",
  loads: "Loads scripts and media from",
  ignored: (count: number) => (count === 1 ? "One more address that it asks for stays blocked." : `${count} more addresses that it asks for stay blocked.`),
  openAnyway: "Open",
  asks: {
    link: "The app wants to open this link in a new tab:",
    message: "The app suggests text for your message:",
    tool: (tool: string) => `The app wants to run the tool ${tool}:`,
  },
  asked: "What the app asks for",
  accept: { link: "Open link", message: "Add to message", tool: "Allow once" },
  always: "Allow while open",
  reject: { link: "Don’t open", message: "Dismiss", tool: "Deny" },
  failures: {
    flood: "it sent too many messages",
    left: "it left its document",
    html: "its HTML cannot be read",
    offline: "the connection was lost",
    frame: "the host did not deliver its frame",
  },
};
