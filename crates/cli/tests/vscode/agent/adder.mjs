// An MCP server with one tool, `add`, on standard input and output.
import readline from 'node:readline';

const answer = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\n');
const number = { type: 'number' };

readline.createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize') {
    answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'adder', version: '1.0.0' } });
  } else if (method === 'tools/list') {
    answer(id, { tools: [{ name: 'add', description: 'Adds two numbers', inputSchema: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] } }] });
  } else if (method === 'tools/call') {
    const { a, b } = params.arguments;
    answer(id, { content: [{ type: 'text', text: `The sum is ${a + b}` }] });
  } else {
    answer(id, {});
  }
}).on('close', () => process.exit(0));
