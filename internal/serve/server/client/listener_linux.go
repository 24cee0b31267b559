package client

import (
	"bufio"
	"encoding/hex"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// listener returns the ID of the user whose program listens at an address of this machine.
func listener(at netip.AddrPort) (user int, ok bool) {
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	any4, any6 := netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port()), netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port())
	all := listening("/proc/net/tcp")
	for address, user := range listening("/proc/net/tcp6") {
		all[address] = user
	}
	for _, address := range []netip.AddrPort{at, any4, any6} { // the most exact one has it
		if user, ok := all[address]; ok {
			return user, true
		}
	}
	return 0, false
}

// stateListen is how a table of sockets says that one listens.
const stateListen = "0A"

// listening returns the users whose sockets listen, from a table of the kernel's.
func listening(file string) map[netip.AddrPort]int {
	all := map[netip.AddrPort]int{}
	f, err := os.Open(file)
	if err != nil {
		return all
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		row := strings.Fields(lines.Text()) // sl local remote state queues timer retries uid
		if len(row) < 8 || row[3] != stateListen {
			continue
		}
		at, ok := tableAddress(row[1])
		user, err := strconv.Atoi(row[7])
		if ok && err == nil {
			all[at] = user
		}
	}
	return all
}

// tableAddress reads an address in a table: words of four bytes in the order of the
// machine, which is little-endian where this runs, and the port.
func tableAddress(text string) (at netip.AddrPort, ok bool) {
	address, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(address)
	number, wrong := strconv.ParseUint(port, 16, 16)
	if err != nil || wrong != nil || len(b)%4 != 0 {
		return at, false
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	addr, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), ok
}
