// A plugin of the host's configuration, with one customization of each kind.
import fs from 'node:fs';
import path from 'node:path';

const FILES = {
  'plugin.json': JSON.stringify({ name: 'kit', description: 'A plugin for tests', version: '1.0.0' }),
  'skills/greet/SKILL.md': '---\nname: greet\ndescription: Greets people\n---\nSay hello to $ARGUMENTS.\n',
  'commands/deploy.md': '---\ndescription: Deploys the project\ndisable-model-invocation: true\n---\nsay deployed $ARGUMENTS\n',
  'agents/reviewer.md': '---\nname: reviewer\ndescription: Reviews code\n---\nYou review code.\n',
  'rules/style.md': '---\ndescription: House style\nalwaysApply: true\n---\nWrite short sentences.\n',
  '.mcp.json': JSON.stringify({ mcpServers: { broken: { command: '/nonexistent/server' } } }),
};

/** Writes the plugin, and returns its folder. */
export function writePlugin(folder) {
  for (const [name, text] of Object.entries(FILES)) {
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }
  return folder;
}
