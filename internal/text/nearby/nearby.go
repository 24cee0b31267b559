// Package nearby knows which addresses are not those of hosts elsewhere: those of this machine,
// of its link and of private networks.
package nearby

import (
	"net"
	"net/netip"
)

// networks are those whose addresses are not those of hosts that everybody means: of
// this machine, its link, private networks, and what stands for them in another form.
var networks = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/3",
	"::/128", "::1/128", "64:ff9b:1::/48", "100::/64", "2001::/32", "fc00::/7", "fe80::/9", "ff00::/8",
)

// embedding are the networks whose addresses contain one of IPv4, at a byte: addresses of
// the old compatible form, NAT64, 6to4.
var embedding = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

func prefixes(all ...string) (out []netip.Prefix) {
	for _, text := range all {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// Is reports whether an address is one of this machine, of its link or of a private
// network, and returns it as a rule would name it. Services at such an
// address often trust every client, and anybody's DNS can point a name at it.
func Is(ip netip.Addr) (plain netip.Addr, near bool) {
	plain = unwrapped(ip)
	for _, network := range networks {
		if network.Contains(plain) {
			return plain, true
		}
	}
	return plain, own(plain)
}

// unwrapped returns the IPv4 address that an address of IPv6 stands for, or else itself,
// without a zone.
func unwrapped(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if ip.Is4() || ip.IsLoopback() || ip.IsUnspecified() {
		return ip
	}
	bytes := ip.As16()
	for _, e := range embedding {
		if e.network.Contains(ip) {
			return netip.AddrFrom4([4]byte(bytes[e.at : e.at+4]))
		}
	}
	return ip
}

// own reports whether an address is one of this machine's. One that does not tell its
// addresses has all of them.
func own(ip netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			if at, ok := netip.AddrFromSlice(n.IP); ok && at.Unmap() == ip {
				return true
			}
		}
	}
	return false
}
