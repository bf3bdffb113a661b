#!/usr/bin/env python3
"""Records the terminal interface and writes docs/terminal-interface.svg.

usage: docs/record/terminal-interface.py [AGENTHOST-BINARY]

The script starts a host with an empty home directory, and the interface in tmux, which is its
terminal. It presses the keys of SCENE, waits for what the screen must show, and takes the screen with
its colours. The SVG shows the screens one after the other, and then the last one. It needs Python
3.9, git and tmux.
"""

import html
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "docs" / "terminal-interface.svg"

COLUMNS, ROWS = 104, 27
TIMEOUT_SECONDS = 30

# The interface takes no answer to a question that has just appeared.
ANSWER_DELAY_SECONDS = 0.5

COMMAND = "sort words.txt > sorted.txt && wc -l sorted.txt"

# (text to paste or keys to press, text that the screen must show, seconds for which it is shown)
SCENE = [
    ([], "new session in", 1.5),
    (["n"], "Isolation", 1.5),
    ([("paste", COMMAND)], "wc -l sorted.txt", 1.5),
    (["Enter"], "1 Allow once (a)", 2.5),
    (["Escape", "a"], "── done", 2.5),
    (["c"], "1 file +4", 2.0),
    (["Enter"], "+ turn", 3.0),
    (["v"], "✓ ", 1.0),
    (["q", "C-p"], "Commands and sessions", 2.0),
    (["Escape", "?"], "ctrl+p", 2.5),
]

FILES = {"words.txt": "reducer\naction\nsession\nturn\n"}

SGR = re.compile(r"\x1b\[([0-9;]*)m")


class Tmux:
    """A tmux server of its own with one window."""

    def __init__(self, socket, environment, directory, command):
        self.socket = socket
        self.environment = environment
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        self.run("-f", "/dev/null", "new-session", "-d", *size, "-c", directory, command)
        self.run("set-option", "-g", "escape-time", "0")

    def run(self, *arguments):
        command = ["tmux", "-S", self.socket, *map(str, arguments)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"error: {' '.join(command)}: {done.stderr}")
        return done.stdout

    def press(self, key):
        if isinstance(key, tuple):
            self.run("set-buffer", key[1])
            self.run("paste-buffer", "-p")
        else:
            self.run("send-keys", key)

    def screen(self):
        return self.run("capture-pane", "-p", "-e")

    def wait(self, text):
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while text not in SGR.sub("", self.screen()):
            if time.monotonic() > deadline:
                sys.exit(f"error: no `{text}` on the screen:\n{SGR.sub('', self.screen())}")
            time.sleep(0.05)


def record(binary, directory):
    """Plays SCENE and returns the screens with their seconds."""
    home, project = directory / "home", directory / "home" / "project"
    project.mkdir(parents=True)
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "SHELL": "/bin/sh",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    configuration = home / ".config" / "agenthost" / "config.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text("auto_agents = false\n")
    for name, content in FILES.items():
        (project / name).write_text(content)
    for command in (
        "init --quiet --initial-branch main",
        "add .",
        "-c user.name=me -c user.email=me@example.org commit --quiet --message first",
    ):
        subprocess.run(["git", *command.split()], cwd=project, env=environment, check=True)

    def agenthost(*arguments):
        subprocess.run([binary, *arguments], env=environment, check=True, capture_output=True)

    agenthost("start")
    screens = []
    tmux = None
    try:
        command = f"exec {shlex.quote(str(binary))} tui"
        tmux = Tmux(directory / "tmux", environment, project, command)
        for keys, text, seconds in SCENE:
            for key in keys:
                tmux.press(key)
                time.sleep(ANSWER_DELAY_SECONDS)
            tmux.wait(text)
            # The rest of the screen settles.
            time.sleep(0.5)
            screens.append((tmux.screen(), seconds))
    finally:
        if tmux:
            tmux.run("kill-server")
        agenthost("stop", "--yes")
    return screens


CHARACTER, LINE, MARGIN = 7.2, 17, 12

# Classes of the 16 colours that the interface uses.
COLORS = {
    "31": "red", "32": "green", "33": "yellow", "34": "blue", "35": "magenta", "36": "cyan",
    "90": "gray", "91": "red", "92": "green", "93": "yellow", "94": "blue", "95": "magenta",
    "96": "cyan",
}

STYLE = """
.panel { fill: #f6f8fa; stroke: #d0d7de }
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f; white-space: pre }
.bold { font-weight: bold } .underline { text-decoration: underline } .italic { font-style: italic }
.red { fill: #b42318 } .green { fill: #11632b } .yellow { fill: #7d4e00 } .blue { fill: #0550ae }
.magenta { fill: #7a3aa8 } .cyan { fill: #0b5d75 } .gray { fill: #57606a }
.mark { fill: #c9d1d9 }
@media (prefers-color-scheme: dark) {
  .panel { fill: #161b22; stroke: #3d444d }
  text { fill: #d7dde4 }
  .red { fill: #ff8f86 } .green { fill: #6fd58a } .yellow { fill: #e3b341 } .blue { fill: #79c0ff }
  .magenta { fill: #d2a8ff } .cyan { fill: #76d9e6 } .gray { fill: #9198a1 }
  .mark { fill: #3d444d }
}
@keyframes appear { from { visibility: hidden } to { visibility: visible } }
.screen { animation: appear 1ms both }
@media (prefers-reduced-motion: reduce) { .screen { animation: none } }
"""


def style_of(codes, style):
    """Applies the codes of an escape sequence to a set of classes."""
    # tmux names the 16 colours as the first ones of 256.
    codes = re.sub(r"38;5;([0-7])(?![0-9])", lambda found: f"3{found[1]}", codes)
    codes = re.sub(r"38;5;([89]|1[0-5])(?![0-9])", lambda found: str(82 + int(found[1])), codes)
    for code in (codes or "0").split(";"):
        if code in ("0", ""):
            style = set()
        elif code in ("1", "3", "4", "7"):
            style = style | {{"1": "bold", "3": "italic", "4": "underline", "7": "reversed"}[code]}
        elif code == "2":
            style = style | {"gray"}
        elif code in COLORS:
            style = {each for each in style if each not in COLORS.values()} | {COLORS[code]}
        elif code in ("22", "23", "24", "27", "39"):
            gone = {"22": {"bold", "gray"}, "23": {"italic"}, "24": {"underline"}, "27": {"reversed"},
                    "39": set(COLORS.values())}[code]
            style = style - gone
    return style


def pieces_of(line):
    """Returns the pieces of a line as (column, text, classes)."""
    pieces, style, column, end = [], set(), 0, 0
    for found in [*SGR.finditer(line), None]:
        text = line[end : found.start() if found else len(line)]
        if text:
            pieces.append((column, text, style))
            column += len(text)
        if found:
            style, end = style_of(found[1], style), found.end()
    return pieces


def draw(screens):
    width = round(COLUMNS * CHARACTER) + 2 * MARGIN + 2
    height = ROWS * LINE + 2 * MARGIN + 2
    label = "The terminal interface: a new session, an approval, its diff, the commands and the keys"
    panel = f'<rect class="panel" x="1" y="1" width="{width - 2}" height="{height - 2}" rx="8"/>'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{label}">',
        "<!-- Written by docs/record/terminal-interface.py. -->",
        f"<style>{STYLE}</style>",
    ]
    start = 0.0
    for screen, seconds in screens:
        # Each screen covers the one before.
        lines.append(f'<g class="screen" style="animation-delay:{start:.1f}s">{panel}')
        for row, line in enumerate(screen.split("\n")[:ROWS]):
            y = 1 + MARGIN + row * LINE
            for column, text, style in pieces_of(line):
                x = 1 + MARGIN + column * CHARACTER
                if "reversed" in style:
                    lines.append(f'<rect class="mark" x="{x:.1f}" y="{y}" '
                                 f'width="{len(text) * CHARACTER:.1f}" height="{LINE}"/>')
                skipped = len(text) - len(text.lstrip())
                text = text.strip()
                if not text:
                    continue
                x += skipped * CHARACTER
                classes = " ".join(sorted(style - {"reversed"}))
                attribute = f' class="{classes}"' if classes else ""
                lines.append(f'<text{attribute} x="{x:.1f}" y="{y + 13}" '
                             f'textLength="{len(text) * CHARACTER:.1f}">'
                             f"{html.escape(text, quote=False)}</text>")
        lines.append("</g>")
        start += seconds
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else shutil.which("agenthost")
    if not binary:
        sys.exit("error: no agenthost on PATH\nhint: name the binary as the first argument")
    with tempfile.TemporaryDirectory() as directory:
        screens = record(pathlib.Path(binary).resolve(), pathlib.Path(directory))
    OUTPUT.write_text(draw(screens))
    print(f"wrote {OUTPUT.relative_to(ROOT)}, {OUTPUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
