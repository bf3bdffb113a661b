#!/usr/bin/env python3
"""Records two clients on one session and writes docs/two-clients.svg.

usage: docs/record/two-clients.py [AGENTHOST-BINARY]

The script starts a host with an empty home directory and two shells in pseudoterminals. It types
the commands of SCENE into the shells and records the output with its times. The SVG replays the
recording once and then stays as it is. It needs nothing beside Python 3.9, git and make.
"""

import fcntl
import html
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "docs" / "two-clients.svg"

COLUMNS, ROWS = 64, 19
TIMEOUT_SECONDS = 20

# (terminal, text to type, output to wait for as (terminal, text) pairs)
SCENE = [
    ("left", 'agenthost run "make"', [("left", "(or y, n)")]),
    ("right", "agenthost attach", [("right", "(or y, n)")]),
    ("right", "y", [("left", "4 sorted.txt\n$ "), ("right", "4 sorted.txt")]),
    ("left", "agenthost diff", [("left", "+turn\n$ ")]),
    ("right", "!git status --short", [("right", "?? sorted.txt")]),
]

PROJECT = {
    "Makefile": "sorted.txt: words.txt\n\tsort words.txt > sorted.txt\n\twc -l sorted.txt\n",
    "words.txt": "reducer\naction\nsession\nturn\n",
}

CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


class Terminal:
    """A shell in a pseudoterminal, and the text on its screen with the time of each piece."""

    def __init__(self, environment, directory):
        pid, self.descriptor = pty.fork()
        if pid == 0:
            os.chdir(directory)
            os.execve("/bin/sh", ["sh", "-i"], environment)
        self.pid = pid
        size = struct.pack("HHHH", ROWS, COLUMNS, 0, 0)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, size)
        self.text = ""
        self.typed = ""
        self.row = self.column = 0
        # (row, column, text, was it typed, seconds)
        self.pieces = []

    def type(self, line):
        self.typed = line
        os.write(self.descriptor, line.encode() + b"\n")

    def read(self, seconds):
        """Returns whether there was output within the given time."""
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        if not ready:
            return False
        try:
            output = os.read(self.descriptor, 65536).decode()
        except OSError:
            return False
        self.draw(CONTROL_SEQUENCE.sub("", output).replace("\r", ""))
        return True

    def draw(self, text):
        self.text += text
        # The terminal echoes a typed line first.
        echo = len(os.path.commonprefix([text, self.typed]))
        self.typed = self.typed[echo:]
        for part, is_typed in ((text[:echo], True), (text[echo:], False)):
            for number, line in enumerate(part.split("\n")):
                if number > 0:
                    self.row, self.column = self.row + 1, 0
                while line:
                    if self.column == COLUMNS:
                        self.row, self.column = self.row + 1, 0
                    fits, line = line[: COLUMNS - self.column], line[COLUMNS - self.column :]
                    self.pieces.append((self.row, self.column, fits, is_typed, time.monotonic()))
                    self.column += len(fits)


def record(binary, directory):
    """Plays SCENE and returns the two terminals and the time of the start."""
    home, project = directory / "home", directory / "home" / "project"
    project.mkdir(parents=True)
    programs = directory / "bin"
    programs.mkdir()
    (programs / "agenthost").symlink_to(binary)
    environment = {
        "HOME": str(home),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PS1": "$ ",
        "SHELL": "/bin/sh",
        "TERM": "dumb",
        "LANG": "C.UTF-8",
    }
    configuration = home / ".config" / "agenthost" / "config.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text("auto_agents = false\n")
    for name, content in PROJECT.items():
        (project / name).write_text(content)
    for command in (
        "init --quiet --initial-branch main",
        "add .",
        "-c user.name=me -c user.email=me@example.org commit --quiet --message first",
    ):
        subprocess.run(["git", *command.split()], cwd=project, env=environment, check=True)

    ready_file = directory / "ready.json"
    host = subprocess.Popen(
        [binary, "serve", "--ready-file", ready_file],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    terminals = {}
    try:
        wait_until(ready_file.exists, "the host did not start")
        for name in ("left", "right"):
            terminals[name] = Terminal(environment, project)
        play(terminals, 1.0)
        start = time.monotonic()
        for name, line, expected in SCENE:
            seen = {each: len(terminal.text) for each, terminal in terminals.items()}
            terminals[name].type(line)
            wait_until(
                lambda: all(text in terminals[each].text[seen[each] :] for each, text in expected),
                f"no {expected} after `{line}`: {terminals[name].text}",
                lambda: play(terminals, 0.05),
            )
            play(terminals, 1.8)
    finally:
        for terminal in terminals.values():
            os.kill(terminal.pid, signal.SIGHUP)
            os.close(terminal.descriptor)
            os.waitpid(terminal.pid, 0)
        host.terminate()
        host.wait()
    return terminals, start


def play(terminals, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for terminal in terminals.values():
            while terminal.read(0.01):
                pass


def wait_until(condition, failure, step=lambda: time.sleep(0.05)):
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"error: {failure}")
        step()


CHARACTER, LINE, MARGIN, BAR = 7.2, 18, 12, 26
PANEL_WIDTH = round(COLUMNS * CHARACTER) + 2 * MARGIN
PANEL_HEIGHT = BAR + ROWS * LINE + 2 * MARGIN
GAP = 14

STYLE = """
.panel { fill: #f6f8fa; stroke: #d0d7de }
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f; white-space: pre }
.title { fill: #57606a }
.typed { fill: #0550ae; font-weight: bold }
@media (prefers-color-scheme: dark) {
  .panel { fill: #161b22; stroke: #3d444d }
  text { fill: #d7dde4 }
  .title { fill: #9198a1 }
  .typed { fill: #79c0ff }
}
@keyframes appear { from { opacity: 0 } to { opacity: 1 } }
.piece { animation: appear 1ms both }
@media (prefers-reduced-motion: reduce) { .piece { animation: none } }
"""


def draw(terminals, start):
    width = 2 * PANEL_WIDTH + GAP + 2
    height = PANEL_HEIGHT + 2
    label = "Two terminals on one session: agenthost run asks on the left, agenthost attach approves on the right"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{label}">',
        "<!-- Written by docs/record/two-clients.py. -->",
        f"<style>{STYLE}</style>",
    ]
    titles = {"left": "terminal 1", "right": "terminal 2"}
    for number, (name, terminal) in enumerate(terminals.items()):
        x, y = 1 + number * (PANEL_WIDTH + GAP), 1
        lines.append(
            f'<rect class="panel" x="{x}" y="{y}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" rx="8"/>'
        )
        lines.append(f'<text class="title" x="{x + MARGIN}" y="{y + 18}">{titles[name]}</text>')
        for row, column, text, is_typed, seconds in join_pieces(terminal.pieces):
            if row >= ROWS:
                sys.exit(f"error: the output has more than {ROWS} rows")
            piece = text.rstrip()
            if not piece:
                continue
            delay = max(0.0, seconds - start)
            left = x + MARGIN + column * CHARACTER
            baseline = y + BAR + MARGIN + row * LINE + 13
            lines.append(
                f'<text class="piece{" typed" if is_typed else ""}" x="{left:.1f}" y="{baseline}" '
                f'textLength="{len(piece) * CHARACTER:.1f}" style="animation-delay:{delay:.2f}s">'
                f"{html.escape(piece, quote=False)}</text>"
            )
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def join_pieces(pieces):
    """Joins neighbouring pieces of one line that arrived within 50 ms of each other."""
    joined = []
    for row, column, text, is_typed, seconds in pieces:
        if joined:
            last = joined[-1]
            is_next = last[0] == row and last[1] + len(last[2]) == column and last[3] == is_typed
            if is_next and seconds - last[4] < 0.05:
                joined[-1] = (row, last[1], last[2] + text, is_typed, last[4])
                continue
        joined.append((row, column, text, is_typed, seconds))
    return joined


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else shutil.which("agenthost")
    if not binary:
        sys.exit("error: no agenthost on PATH\nhint: name the binary as the first argument")
    with tempfile.TemporaryDirectory() as directory:
        terminals, start = record(pathlib.Path(binary).resolve(), pathlib.Path(directory))
    OUTPUT.write_text(draw(terminals, start))
    print(f"wrote {OUTPUT.relative_to(ROOT)}, {OUTPUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
