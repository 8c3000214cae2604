#!/usr/bin/env bash
# Fuzzes every decoder, and the command language, for a while each; the first input that breaks one ends it, and is named.
#
#   deploy/soak/fuzz.sh [TIME, as 30s or 10m]
set -euo pipefail
cd "$(dirname "$0")/../.."
each=${1:-1m}

# A second for making an input that reached new code smaller, instead of the minute that a short run does not have.
# The go command calls its own deadline a failure when an input is slow; a real one names the file it wrote the input to.
fuzz() {
    local out
    out=$(go test -run '^$' -fuzz "^$1\$" -fuzztime "$each" -fuzzminimizetime 1s "$2" 2>&1 </dev/null) && return
    if grep -q 'context deadline exceeded' <<<"$out" && ! grep -qE 'Failing input|panic:' <<<"$out"; then return; fi
    printf '%s %s\n%s\n' "$2" "$1" "$out"
    return 1
}
while IFS=: read -r file target; do
    echo "${file%/*} ${target#func }"
    fuzz "${target#func }" "${file%/*}"
done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort)
