package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// examples holds a call of each command that has none of its own; the word cairn stands before it.
var examples = strings.Split(strings.TrimSpace(`
alias Bob Robert
audit --limit 20
backup list ./backups
backup verify ./backups
bench compare before.json after.json
bench recall --corpus documents.jsonl --queries questions.jsonl --json
categories
category databases
claim Alice leads payments --valid-from 2026-01-31
claims Alice
cluster cert --node-id 4 --host d.example
cluster handover
cluster join --node-id 4 --peer-addr d:7440
cluster keys
cluster leave
cluster promote --node-id 4
cluster recover --config /etc/cairn/node1.toml --give-up 2,3
cluster remove --node-id 3
cluster status
cluster transfer --node-id 2
conflicts list --status open
context add prod --endpoints a:7437,b:7437,c:7437 --token-file prod.token
context list
context remove prod
context use prod
count --filter '{"project":"atlas"}'
covenant enroll reviewer@local memory.read
covenant grant memory.read
covenant intent "rotate the keys"
covenant search "who leads payments?"
covenant verify
db create work
db drop old --yes
db list
db quota work --max-memories 100000
debug bundle --output cairn-debug.tar.gz
delete /prefs/editor/theme
dev --home ./scratch --port-base 17437
digest
doctor
edges Alice
embed fetch all-MiniLM-L6-v2
embed list
embed test NAME
embed use default all-MiniLM-L6-v2
entities --limit 20
entity Alice
erased RID
export > memories.jsonl
feedback "who leads payments?" RID
gaps
get RID
history RID
hook claude SessionStart
key encrypt --home ./cairn-data --key-file ./master.key
key list --home ./cairn-data --key-file ./master.key
key rotate --home ./cairn-data --key-file ./master.key
log tail --limit 50
mcp
namespaces
patterns
personality
process -serve
read /prefs/editor/theme
recall "who leads payments?" --top 3 --since 30d
recover --home ./cairn-data --lost
remember "Alice leads payments" --namespace work --ttl 30d
rename /prefs/editor/theme /prefs/editor/colours
serve --config /etc/cairn/node1.toml
sessions draft "Alice leads payments. The deploy moved to Monday."
sessions end SESSION --summary "The deploy moved to Monday."
sessions list
sessions show SESSION
sessions start --namespace work
sift backfill
sift drain
sift import ./old
sift list
sift open .
sift ping
sift search "who leads payments?"
sift status
sift stop
skills define release.notes.write "Collect the merged changes since the last tag, and write one line for each." --skill-type procedure --applies-to release --on-conflict replace
skills outcome release.notes.write --succeeded
skills search "how are release notes written?"
stale --days 90
stats
status
tasks add "Find out who is on call" --priority high
tasks change TASK --status done
tasks delete OLD_TASK
tasks list --status open
tasks show TASK
token create --label crawler --expires 30d --trust tool --quarantine web
token limit TOKEN --rps 100
token list
token revoke TOKEN
triggers acknowledge TRIGGER
triggers act TRIGGER
triggers deliver
triggers dismiss TRIGGER
triggers history
triggers list
triggers prune
turns add user "Which database do we use?"
turns clear
turns list --limit 10
unrelate EDGE
upcoming --days 30
version
watch --type stored,forgotten`), "\n")

// showExamples gives each command below all its example.
func showExamples(all *cobra.Command) {
	for _, line := range examples {
		c, _, err := all.Find(strings.Fields(line))
		if err != nil || c == all || c.Example != "" {
			panic("cairn: the example " + line)
		}
		c.Example = "  cairn " + line
	}
}
