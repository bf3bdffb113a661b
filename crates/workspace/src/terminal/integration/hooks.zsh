# Tells the terminal where commands begin and end.

typeset -g __agenthost_nonce='@NONCE@'

# Sends a mark to the terminal, wherever the shell's own output goes.
__agenthost_tell() {
    { builtin printf '\033]633;%s;%s;%s\007' "$1" "$__agenthost_nonce" "${2-}" >/dev/tty } 2>/dev/null
    return 0
}

# Sends a mark with a text in it, of which nothing can end the mark.
__agenthost_tell_text() {
    local text=${2[1,4000]} from to
    for from to in '%' '%25' $'\n' '%0A' $'\r' '%0D' $'\t' '%09' $'\e' '%1B' $'\a' '%07'; do
        text=${text//${(b)from}/$to}
    done
    __agenthost_tell "$1" "$text"
}

__agenthost_prompt() {
    local code=$?
    __agenthost_tell D "$code"
    __agenthost_tell_text P "$PWD"
    __agenthost_tell A
    __agenthost_tell B
}

__agenthost_executes() {
    __agenthost_tell_text C "${1:-$3}"
}

# The first prompt: all of the user's files have been read. Ours goes before
# theirs, so that what they write is not taken for output of a command.
__agenthost_begins() {
    local code=$?
    precmd_functions=(__agenthost_prompt ${precmd_functions:#__agenthost_begins})
    preexec_functions=(${preexec_functions} __agenthost_executes)
    unfunction __agenthost_begins
    (exit $code)
    __agenthost_prompt
}

typeset -ga precmd_functions preexec_functions
precmd_functions+=(__agenthost_begins)
