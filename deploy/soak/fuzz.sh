#!/usr/bin/env bash
# Fuzzes every decoder, and the command language, for a while each, as many packages at once as there are processors; the first input that
# breaks one ends it, and is named. Inputs are led by what they reach in the code, for which all packages are compiled once more; with
# "unguided" they are not.
#
#   deploy/soak/fuzz.sh [TIME, as 30s or 10m] [unguided]
set -euo pipefail
cd "$(dirname "$0")/../.."
export each=${1:-1m} guide="-fuzz ." tools cache
[ "${2:-}" = unguided ] && guide=
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
cache=$(go env GOCACHE)/fuzz

# A second for making an input that reached new code smaller, instead of the minute that a short run does not have.
# The testing package calls its own deadline a failure when an input is slow; a real one names the file it wrote the input to.
# xargs starts no other package after a status of 255.
fuzz() {
    local out target binary=$tools/${1//\//-}
    go test -vet=off -c $guide -o "$binary" "$1" || return 255 # once for all targets of the package
    cd "$1"
    for target in $(grep -ohE '^func Fuzz[A-Za-z0-9_]+' *_test.go | sed 's/func //'); do
        echo "$1 $target"
        out=$("$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$each" -test.fuzzminimizetime 1s -test.parallel 1 \
            -test.fuzzcachedir "$cache/github.com/cairndb/cairn/${1#./}" 2>&1 </dev/null) && continue
        if grep -q 'context deadline exceeded' <<<"$out" && ! grep -qE 'Failing input|panic:' <<<"$out"; then continue; fi
        printf '%s %s\n%s\n' "$1" "$target" "$out"
        return 255
    done
    rm "$binary"
}
export -f fuzz
grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u | xargs -n 1 -P "$(nproc)" bash -c 'fuzz "$1"' fuzz
