// Package simulation runs whole clusters inside one process, in virtual time, over a network in memory that does by a
// schedule made from a seed what networks do. It has no code outside of its tests.
//
// Every node is the real one: raft, transport, log, state, index, service. Only three things are not: the network
// (network_test.go), the clock that orders the log, and fsync: what a dead machine, or a disk that failed, leaves of
// the log's and the state's files is made from what they were when they were last synced (disk_test.go); disks are also
// slow, and full. Nodes stand still, and go on as if they had not. Links are cut, one way or both, and slowed;
// connections break with what is under way; requests arrive a second time, or much later than what was sent after them,
// and answers get lost (late_test.go). Clients work through the memory service and write down what they asked, when,
// and what they were told (history_test.go); a checker decides whether one memory could have answered so
// (model_test.go). A seed decides the faults, not the interleaving of goroutines: run again with -count when a failing
// seed passes.
//
//	go test ./node/simulation -run 'TestSimulation/seed=17$' -count=20
//	go test -tags soak ./node/simulation -timeout 0 -seeds 5000
package simulation
