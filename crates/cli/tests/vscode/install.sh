#!/usr/bin/env bash
# Installs VS Code's server, Node.js, Playwright and Chromium for `./test vscode`.
#
#   install.sh FOLDER
#
# Parts that are already in FOLDER are kept. Exit code 3: something can't be
# had here; it was said what.
set -euo pipefail

VSCODE_PACKAGE=code-server@4.139.1
folder=${1:?usage: install.sh FOLDER}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
vscode="$folder/cs/package/lib/vscode"
log="$folder/install.log"

unavailable() {
    echo "vscode: skipped, $*"
    exit 3
}

# Runs a command with its output in the log.
quietly() {
    "$@" >>"$log" 2>&1 </dev/null
}

npm_package() { # npm_package FOLDER-NAME PACKAGE
    mkdir -p "$folder/$1"
    (cd "$folder/$1" && { [ -f package.json ] || quietly npm init -y; } && quietly npm install --no-audit --no-fund "$2")
}

find_chromium() {
    local name
    for name in ${CHROMIUM:-} chromium chromium-browser google-chrome; do
        command -v "$name" && return
    done
    return 1
}

command -v npm >/dev/null || unavailable "there is no npm"

if ! [ -x "$folder/node24/node_modules/node/bin/node" ]; then
    echo "installing Node.js 24"
    npm_package node24 node@24 || unavailable "Node.js 24 can't be installed from npm, see $log"
fi

if ! [ -d "$folder/pw/node_modules/playwright-core" ]; then
    echo "installing playwright-core"
    npm_package pw playwright-core || unavailable "playwright-core can't be installed from npm, see $log"
fi

if ! [ -f "$vscode/out/server-main.js" ]; then
    echo "downloading $VSCODE_PACKAGE"
    mkdir -p "$folder/cs"
    archive=$(cd "$folder" && npm pack "$VSCODE_PACKAGE" --ignore-scripts 2>>"$log" | tail -n 1) ||
        unavailable "$VSCODE_PACKAGE can't be downloaded from npm, see $log"
    tar xzf "$folder/$archive" -C "$folder/cs"
    rm "$folder/$archive"
fi

if ! [ -f "$vscode/node_modules/.package-lock.json" ]; then
    echo "installing the dependencies of VS Code"
    (cd "$vscode" && quietly npm install --omit=dev --ignore-scripts --no-audit --no-fund) ||
        unavailable "the dependencies of VS Code can't be installed from npm, see $log"
fi

# N-API modules: the headers of any Node.js will do. Those of the system's
# Node.js are used if they are installed, else node-gyp downloads some.
gyp="$(npm root -g)/npm/node_modules/node-gyp/bin/node-gyp.js"
prefix=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
headers=()
[ -f "$prefix/include/node/node_api.h" ] && headers=("--nodedir=$prefix")
for module in @vscode/spdlog @vscode/sqlite3 node-pty; do
    if ! compgen -G "$vscode/node_modules/$module/build/Release/*.node" >/dev/null; then
        echo "building $module"
        (cd "$vscode/node_modules/$module" && quietly node "$gyp" rebuild "${headers[@]}" -j 2) ||
            unavailable "the native module $module can't be built (it needs a C++ compiler and python3), see $log"
    fi
done

if ! find_chromium >/dev/null; then
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] ||
        unavailable "there is no chromium, and only root can install it (or set CHROMIUM to its path)"
    echo "installing chromium"
    export DEBIAN_FRONTEND=noninteractive
    quietly apt-get install -y --no-install-recommends chromium ||
        { quietly apt-get update && quietly apt-get install -y --no-install-recommends chromium; } ||
        unavailable "chromium can't be installed by apt-get, see $log"
fi
find_chromium >"$folder/chromium.path"
