# Tells the terminal where commands begin and end. Read after the user's own
# configuration.

set -g __agenthost_nonce '@NONCE@'

# Sends a mark to the terminal, wherever the shell's own output goes.
function __agenthost_tell
    builtin printf '\e]633;%s;%s;%s\a' $argv[1] $__agenthost_nonce "$argv[2]" >/dev/tty 2>/dev/null
end

# Sends a mark with a text in it, of which nothing can end the mark.
function __agenthost_tell_text
    set -l text (string escape --style=url -- "$argv[2]" | string sub --length 12000)
    __agenthost_tell $argv[1] "$text"
end

function __agenthost_prompt --on-event fish_prompt
    __agenthost_tell_text P "$PWD"
    __agenthost_tell A
    __agenthost_tell B
end

function __agenthost_executes --on-event fish_preexec
    __agenthost_tell_text C "$argv[1]"
end

function __agenthost_finished --on-event fish_postexec
    set -l code $status
    __agenthost_tell D $code
end
