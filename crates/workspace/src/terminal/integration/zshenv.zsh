# The first file that zsh reads. From here on it finds the user's own.

'builtin' 'typeset' '-g' __agenthost_place="$ZDOTDIR"
if [[ -n "${AGENTHOST_ZDOTDIR+set}" ]]; then
    ZDOTDIR="$AGENTHOST_ZDOTDIR"
    'builtin' 'unset' AGENTHOST_ZDOTDIR
else
    'builtin' 'unset' ZDOTDIR
fi

# Before the user's files, so that no alias of theirs gets in.
if [[ -o interactive ]]; then
    'builtin' 'emulate' zsh -o no_aliases -c "'builtin' 'source' ${(qq)__agenthost_place}/hooks.zsh"
fi
'builtin' 'unset' __agenthost_place

if [[ -r "${ZDOTDIR-$HOME}/.zshenv" ]]; then
    'builtin' 'source' "${ZDOTDIR-$HOME}/.zshenv"
fi
