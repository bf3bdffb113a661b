// The project that sessions work in: a git repository with a few files.
import fs from 'node:fs';
import path from 'node:path';
import { execFileSync } from 'node:child_process';

const FILES = {
  'README.md': '# Demo\n',
  'hello.txt': 'hello\n',
  'doomed.txt': 'this file will be deleted\nby a turn\n',
  'before.txt': 'this file will be renamed\nits contents stay\nthe same\nas they were\n',
  'src/main.rs': 'fn main() {}\n',
  "src/odd (name) + @'ü.txt": 'odd\n',
  'AGENTS.md': 'Answer in British English.\n',
  '.agents/skills/release/SKILL.md': '---\nname: release\ndescription: Makes a release of the project\n---\nTag $ARGUMENTS, then build.\n',
  '.mcp.json': JSON.stringify({ mcpServers: {} }),
};

export class Project {
  constructor(folder) {
    this.folder = folder;
    for (const [name, text] of Object.entries(FILES)) {
      fs.mkdirSync(path.dirname(this.path(name)), { recursive: true });
      fs.writeFileSync(this.path(name), text);
    }
    this.git('init', '-q', '-b', 'main');
    this.git('add', '-A');
    this.git('commit', '-q', '-m', 'first');
  }

  git(...args) {
    const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org'];
    return execFileSync('git', [...identity, ...args], { cwd: this.folder, encoding: 'utf8' });
  }

  /** Puts all files back to how they were at the beginning. */
  reset() {
    this.git('reset', '-q', '--hard');
    this.git('clean', '-q', '-f', '-d');
  }

  path(name) {
    return path.join(this.folder, name);
  }

  has(name) {
    return fs.existsSync(this.path(name));
  }

  read(name) {
    return fs.readFileSync(this.path(name), 'utf8');
  }

  write(name, text) {
    fs.writeFileSync(this.path(name), text);
  }
}
