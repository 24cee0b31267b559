//go:build !linux

package client

import "net/netip"

// listener returns that it cannot be told whose program listens.
func listener(netip.AddrPort) (user int, ok bool) { return 0, false }
