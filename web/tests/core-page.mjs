// The WebAssembly core of the page with a socket, but without a page. It runs in node and in a browser; it must not use
// anything outside of this function, because browsers get its source.

export function makeCorePage() {
  /** Moves the tags of an input outside, as `bridge.ts` does. */
  function tagged({ kind, ...fields }) {
    if (fields.command === undefined) {
      return { [kind]: fields };
    }
    const { op, ...rest } = fields.command;
    const command = op.split(".").reduceRight((value, word) => ({ [word]: value }), rest);
    return { [kind]: { ...fields, command } };
  }

  return class CorePage {
    static async open(module, url, clientId) {
      const instance = await WebAssembly.instantiate(module, {});
      const page = new CorePage(instance.exports);
      page.feed({ kind: "open", url, clientId, name: "test" });
      await page.until(() => page.slices.link?.state === "live");
      return page;
    }

    constructor(exports) {
      this.exports = exports;
      this.slices = {};
      this.rows = {};
      this.waiters = new Map();
      this.checks = new Set();
      this.lastId = 0;
      this.received = 0;
    }

    step(input) {
      const bytes = new TextEncoder().encode(JSON.stringify({ now: Date.now(), input: tagged(input) }));
      const address = this.exports.page_alloc(bytes.length);
      new Uint8Array(this.exports.memory.buffer, address, bytes.length).set(bytes);
      const output = this.exports.page_step(address, bytes.length);
      const buffer = this.exports.memory.buffer;
      const length = new DataView(buffer).getUint32(output, true);
      const text = new TextDecoder().decode(new Uint8Array(buffer, output + 4, length));
      this.exports.page_free(output);
      return JSON.parse(text);
    }

    feed(input) {
      for (const effect of this.step(input)) {
        this.apply(effect);
      }
      for (const check of [...this.checks]) {
        check();
      }
    }

    apply(effect) {
      switch (effect.kind) {
        case "connect":
          this.connect(effect.url);
          return;
        case "sendText":
          if (this.socket?.readyState === 1) {
            this.socket.send(effect.text);
          }
          return;
        case "disconnect":
          this.cut();
          return;
        case "wake":
          clearTimeout(this.timer);
          this.timer = effect.afterMs === undefined ? undefined : setTimeout(() => this.feed({ kind: "timer" }), effect.afterMs);
          return;
        case "wantFrame":
          setTimeout(() => this.feed({ kind: "frame" }), 0);
          return;
        case "patch":
          for (const { slice, value, set } of effect.patches) {
            if (value !== undefined) {
              this.slices[slice] = value;
            }
            this.rows[slice] = { ...this.rows[slice], ...set };
          }
          return;
        case "save":
          this.saved = effect.text;
          return;
        case "done": {
          const waiter = this.waiters.get(effect.id);
          this.waiters.delete(effect.id);
          waiter?.(effect);
          return;
        }
      }
    }

    connect(url) {
      this.socket?.close();
      const socket = new WebSocket(url);
      socket.onopen = () => socket === this.socket && this.feed({ kind: "socketOpened" });
      socket.onmessage = ({ data }) => {
        if (socket === this.socket) {
          this.received += 1;
          this.feed({ kind: "socketText", text: data });
        }
      };
      socket.onclose = () => {
        if (socket === this.socket) {
          this.socket = undefined;
          this.feed({ kind: "socketClosed", code: 1006, reason: "" });
        }
      };
      this.socket = socket;
    }

    /** Loses the connection without a word, as a network does. */
    cut() {
      const socket = this.socket;
      this.socket = undefined;
      socket?.close();
    }

    /** Sends a command; the result has `error` or `value`. */
    request(command) {
      this.lastId += 1;
      const id = this.lastId;
      return new Promise((resolve) => {
        this.waiters.set(id, resolve);
        this.feed({ kind: "do", id, command });
      });
    }

    /** Waits until a condition holds; it is checked after every input. */
    until(condition) {
      return new Promise((resolve) => {
        const check = () => {
          if (condition()) {
            this.checks.delete(check);
            resolve();
          }
        };
        this.checks.add(check);
        check();
      });
    }

    close() {
      clearTimeout(this.timer);
      this.cut();
    }
  };
}
