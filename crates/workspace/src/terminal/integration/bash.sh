# Tells the terminal where commands begin and end. Bash reads this instead of
# the user's own startup files, so those come first. Nothing here is exported.

__agenthost_nonce='@NONCE@'

if [ '@STARTUP@' = login ]; then
    if [ -r /etc/profile ]; then . /etc/profile; fi
    if [ -r ~/.bash_profile ]; then . ~/.bash_profile
    elif [ -r ~/.bash_login ]; then . ~/.bash_login
    elif [ -r ~/.profile ]; then . ~/.profile
    fi
elif [ -r ~/.bashrc ]; then
    . ~/.bashrc
fi

# Sends a mark to the terminal, wherever the shell's own output goes.
__agenthost_tell() {
    { builtin printf '\033]633;%s;%s;%s\007' "$1" "$__agenthost_nonce" "${2-}" >/dev/tty; } 2>/dev/null
    return 0
}

# Sends a mark with a text in it, of which nothing can end the mark.
__agenthost_tell_text() {
    local text=${2:0:4000}
    text=${text//"%"/"%25"}
    text=${text//$'\n'/"%0A"}
    text=${text//$'\r'/"%0D"}
    text=${text//$'\t'/"%09"}
    text=${text//$'\e'/"%1B"}
    text=${text//$'\a'/"%07"}
    __agenthost_tell "$1" "$text"
}

__agenthost_prompt_begins() {
    local code=$?
    __agenthost_tell D "$code"
    __agenthost_tell_text P "$PWD"
    __agenthost_tell A
    # What the user's own prompt commands see is not ours to change.
    return "$code"
}

__agenthost_prompt_ends() {
    local code=$?
    if [[ ${PS0-} != *'$(__agenthost_executes)'* ]]; then
        PS0="${PS0-}"'$(__agenthost_executes)'
    fi
    __agenthost_history=$(HISTTIMEFORMAT= builtin history 1 2>/dev/null)
    __agenthost_tell B
    __agenthost_waits=1
    return "$code"
}

# Runs in a subshell when a line has been read, before it is executed. Its
# text is what the history has gained. If the history has gained nothing, the
# line was a repetition, or it was one that the user does not want there: then
# the first command of the line says which.
__agenthost_executes() {
    local last
    last=$(HISTTIMEFORMAT= builtin history 1 2>/dev/null)
    if [[ -z $last ]]; then
        __agenthost_tell U
    elif [[ $last != "$__agenthost_history" ]] || __agenthost_keeps_all; then
        __agenthost_tell_text C "$(__agenthost_line "$last")"
    else
        __agenthost_tell U
    fi
}

# Whether everything but repetitions goes to the history.
__agenthost_keeps_all() {
    [[ -o history && -z ${HISTIGNORE-} && ${HISTCONTROL-} != *ignorespace* && ${HISTCONTROL-} != *ignoreboth* ]]
}

# An entry of the history without its number.
__agenthost_line() {
    if [[ $1 =~ ^[[:space:]]*[0-9]+.\ (.*)$ ]]; then
        builtin printf '%s' "${BASH_REMATCH[1]}"
    fi
}

# Runs before each command; only the first of a line matters.
__agenthost_first_command() {
    local code=$? first=$1
    if [[ -n ${__agenthost_waits-} && -z ${COMP_LINE-} && -z ${READLINE_LINE-} ]]; then
        __agenthost_waits=
        if [[ $first != __agenthost_prompt_begins* ]]; then
            local last
            last=$(__agenthost_line "$__agenthost_history")
            if [[ $last == "$first"* ]]; then
                first=$last
            fi
            __agenthost_tell_text E "$first"
        fi
    fi
    # With a trap of the user after this one, it is that one's to decide.
    [[ -z ${2-} ]] || return "$code"
    return 0
}

# PS0 is known since bash 4.4, and is expanded unless somebody turned it off.
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)) && shopt -q promptvars; then
    if ! __agenthost_keeps_all; then
        builtin eval "__agenthost_trap=($(builtin trap -p DEBUG))"
        if [[ -n ${__agenthost_trap[2]-} ]]; then
            builtin trap -- '__agenthost_first_command "$BASH_COMMAND" others'$'\n'"${__agenthost_trap[2]}" DEBUG
        else
            builtin trap -- '__agenthost_first_command "$BASH_COMMAND"' DEBUG
        fi
        unset __agenthost_trap
    fi
    # An exported one would name functions that a shell in this shell lacks.
    export -n PROMPT_COMMAND PS0
    if [[ $(builtin declare -p PROMPT_COMMAND 2>/dev/null) == 'declare -a'* ]] &&
        ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
        PROMPT_COMMAND=(__agenthost_prompt_begins "${PROMPT_COMMAND[@]}" __agenthost_prompt_ends)
    else
        PROMPT_COMMAND="__agenthost_prompt_begins${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}"$'\n'__agenthost_prompt_ends
    fi
fi
