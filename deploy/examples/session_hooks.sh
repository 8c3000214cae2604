#!/bin/sh
# What a coding agent's hooks do in two sessions, as Claude Code runs them: JSON on stdin, JSON on stdout. The second
# session begins with what the first one learned.
#
#   go build -o cairn ./cmd/cairn
#   ./cairn dev
#   deploy/examples/session_hooks.sh ./cairn cairn-data
#
# It works in a home of its own, so that it changes nothing of yours; `cairn connect claude` does this for you.
set -eu
cairn=$(realpath "${1:-./cairn}") node=$(realpath "${2:-cairn-data}")
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HOME="$home" XDG_CONFIG_HOME="$home/.config"
unset CAIRN_TOKEN CAIRN_TOKEN_FILE CAIRN_ENDPOINTS CAIRN_CONTEXT # the node is the one named
mkdir "$home/project"
cd "$home/project"

"$cairn" connect claude --home "$node" --yes >/dev/null

# hook EVENT MORE runs a hook as the agent does.
hook() {
    printf '{"session_id":"%s","cwd":"%s","hook_event_name":"%s"%s}' "$session" "$PWD" "$1" "${2:-}" | "$cairn" hook claude "$1"
}

session=first
hook SessionStart ',"source":"startup"' >/dev/null
hook PostToolUse ',"tool_name":"Bash","tool_input":{"command":"make deploy"},"tool_response":{"stdout":"the deploy failed: the quota of eu-west is used up"}'
hook Stop ',"last_assistant_message":"The deploy needs a larger quota in eu-west."'
hook SessionEnd ',"reason":"exit"'

session=second
known=""
for _ in $(seq 100); do # what a hook captured is summarised a moment later
    known=$(hook SessionStart ',"source":"startup"')
    case $known in *quota*) break ;; esac
done
printf '%s\n' "$known"
"$cairn" connect claude --home "$node" --undo --yes >/dev/null
