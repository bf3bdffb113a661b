// A TCP relay between VS Code's server and the host: a network that can fail.
import net from 'node:net';

export class Network {
  constructor(port, hostPort) {
    this.port = port;
    this.hostPort = hostPort;
    this.pairs = new Set();
    this.server = net.createServer(client => this.connect(client));
  }

  start() {
    return new Promise((resolve, reject) => this.server.once('error', reject).listen(this.port, '127.0.0.1', resolve));
  }

  connect(client) {
    if (this.refusing) {
      client.destroy();
      return;
    }
    const host = net.connect(this.hostPort, '127.0.0.1');
    const pair = [client, host];
    this.pairs.add(pair);
    for (const [from, to] of [[client, host], [host, client]]) {
      from.on('data', data => to.write(data));
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        to.destroy();
        this.pairs.delete(pair);
      });
    }
    if (this.held) for (const socket of pair) socket.pause();
  }

  /** Closes all connections, as a broken network does. */
  cut() {
    for (const pair of this.pairs) for (const socket of pair) socket.resetAndDestroy();
  }

  /** Closes all connections, and takes no new ones until `release`. */
  refuse() {
    this.refusing = true;
    this.cut();
  }

  /** Passes nothing on until `release`: peers that say nothing. */
  hold() {
    this.held = true;
    for (const pair of this.pairs) for (const socket of pair) socket.pause();
  }

  release() {
    this.held = false;
    this.refusing = false;
    for (const pair of this.pairs) for (const socket of pair) socket.resume();
  }

  stop() {
    this.cut();
    this.server.close();
  }
}
