#!/usr/bin/env bash
# Runs three nodes on this machine under a mixed load for N minutes while they are killed and stopped at random, and
# prints one line: PASS or FAIL, with figures.
#
#   deploy/soak/run.sh [MINUTES] [SEED]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
(cd "$root" && go build -o "$bin/cairn" ./cmd/cairn)
"$bin/cairn" bench soak --for "${1:-10}m" ${2:+--seed "$2"}
