#!/usr/bin/env bash
# Three Cairn nodes on this machine: starts them, says how to talk to each, and stops them on Ctrl-C.
#
#   deploy/three-node/run.sh [DIR] [PORT_BASE]
#
# DIR (default ./cluster) keeps configurations and data: run it again and the memory is still there.
# CAIRN_BIN names a cairn to run; without it the script builds one.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=${1:-./cluster}
base=${2:-7500}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
echo "*" >"$dir/.gitignore" # secrets and data, also when DIR is in a clone
cairn=$dir/cairn
if [ -n "${CAIRN_BIN:-}" ]; then
    ln -sf "$CAIRN_BIN" "$cairn"
else
    echo "building $cairn; the first build takes about two minutes" >&2
    (cd "$root" && go build -o "$cairn" ./cmd/cairn)
fi
[ -f "$dir/node1.toml" ] || "$cairn" cluster init --nodes 3 --dir "$dir" --port-base "$base" >/dev/null

pids=()
stop() {
    trap - INT TERM EXIT
    kill "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
    echo "stopped; the data stays in $dir" >&2
}
trap stop INT TERM EXIT
for i in 1 2 3; do
    "$cairn" serve --config "$dir/node$i.toml" >"$dir/node$i.ready" 2>>"$dir/node$i.log" &
    pids+=($!)
done
for i in 1 2 3; do
    for _ in $(seq 300); do
        [ -s "$dir/node$i.ready" ] && break
        kill -0 "${pids[$((i - 1))]}" 2>/dev/null || { echo "node $i ended; see $dir/node$i.log" >&2; exit 1; }
        sleep 0.1
    done
    [ -s "$dir/node$i.ready" ] || { echo "node $i does not serve yet; see $dir/node$i.log" >&2; exit 1; }
done
cat >&2 <<TXT

Three nodes are up. In another terminal:

  export CAIRN_TOKEN_FILE=$(printf %q "$dir/token") CAIRN_ENDPOINTS=127.0.0.1:$base,127.0.0.1:$((base + 10)),127.0.0.1:$((base + 20))
  $(printf %q "$cairn") remember "Alice leads the payments team"
  $(printf %q "$cairn") recall "who leads payments?" --endpoints 127.0.0.1:$((base + 20))
  $(printf %q "$cairn") status

Kill one and go on (its process id is the number):  kill -9 ${pids[0]} | ${pids[1]} | ${pids[2]}
TXT
for i in 1 2 3; do echo "node $i  pid ${pids[$((i - 1))]}  wire 127.0.0.1:$((base + 10 * (i - 1)))  gateway http://127.0.0.1:$((base + 10 * (i - 1) + 1))" >&2; done
wait
