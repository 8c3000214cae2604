#!/usr/bin/env bash
# Checks the history that a soak has left once more, and prints what is wrong with it and one line: PASS or FAIL, with figures.
#
#   deploy/soak/check.sh FILE
set -euo pipefail
file=$(realpath "${1:?a history: the file that deploy/soak/run.sh has named}")
cd "$(dirname "$0")/../.."
exec go run ./cmd/lab check "$file"
