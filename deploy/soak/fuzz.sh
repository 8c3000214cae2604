#!/usr/bin/env bash
# Fuzzes every decoder, and the command language, for a while each, as many at once as there are processors; the first input that
# breaks one ends it, and is named.
#
#   deploy/soak/fuzz.sh [TIME, as 30s or 10m]
set -euo pipefail
cd "$(dirname "$0")/../.."
export each=${1:-1m}

# A second for making an input that reached new code smaller, instead of the minute that a short run does not have.
# The go command calls its own deadline a failure when an input is slow; a real one names the file it wrote the input to.
# xargs starts no other target after a status of 255.
fuzz() {
    local out file=${1%%:*} target=${1##*:func }
    echo "${file%/*} $target"
    out=$(go test -vet=off -run '^$' -fuzz "^$target\$" -fuzztime "$each" -fuzzminimizetime 1s -parallel 1 "${file%/*}" 2>&1 </dev/null) && return
    if grep -q 'context deadline exceeded' <<<"$out" && ! grep -qE 'Failing input|panic:' <<<"$out"; then return; fi
    printf '%s %s\n%s\n' "${file%/*}" "$target" "$out"
    return 255
}
export -f fuzz
grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort | tr '\n' '\0' | xargs -0 -n 1 -P "$(nproc)" bash -c 'fuzz "$1"' fuzz
