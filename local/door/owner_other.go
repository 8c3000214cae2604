//go:build !linux

package door

import "net/netip"

// lookUp finds no owner: this system does not tell.
func lookUp(_, _ netip.AddrPort) owner { return owner{} }
