#!/usr/bin/env bash
# Runs a cluster of real nodes on this machine, behind proxies, while all kinds of faults happen to them and clients write and read; then
# judges what the clients were told and prints one line: PASS or FAIL, with figures. Needs Go and no root. The history of a run that
# failed stays, for deploy/soak/check.sh.
#
#   deploy/soak/run.sh [MINUTES] [SEED] [VOTERS: 3 or 5]
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go test -tags soak -c -o "$bin/soak" ./cmd/cairn
cd cmd/cairn
"$bin/soak" -test.run '^TestSoak$' -test.timeout 0 -soak.for "${1:-10}m" ${2:+-soak.seed "$2"} -soak.voters "${3:-3}" | grep -vx PASS
