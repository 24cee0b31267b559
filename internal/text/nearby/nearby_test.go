package nearby

import (
	"net"
	"net/netip"
	"testing"
)

// TestIs: addresses of this machine and of private networks, in every form.
func TestIs(t *testing.T) {
	for address, want := range map[string]string{
		"93.184.216.34": "", "2606:2800:220:1::1": "", "100.63.0.1": "", "100.128.0.1": "", "172.32.0.1": "", "64:ff9b::5db8:d822": "", "::ffff:93.184.216.34": "",
		"127.0.0.1": "127.0.0.1", "127.8.8.8": "127.8.8.8", "0.0.0.0": "0.0.0.0", "::1": "::1", "::": "::",
		"10.0.0.1": "10.0.0.1", "172.16.0.1": "172.16.0.1", "172.31.255.255": "172.31.255.255", "192.168.1.1": "192.168.1.1",
		"100.64.0.1": "100.64.0.1", "100.127.255.255": "100.127.255.255", "169.254.169.254": "169.254.169.254", "224.0.0.1": "224.0.0.1", "255.255.255.255": "255.255.255.255",
		"fe80::1": "fe80::1", "fe80::1%eth0": "fe80::1", "fec0::1": "fec0::1", "fc00::1": "fc00::1", "fd12::1": "fd12::1", "ff02::1": "ff02::1",
		"::ffff:127.0.0.1": "127.0.0.1", "::ffff:a00:1": "10.0.0.1", "::10.0.0.1": "10.0.0.1", "64:ff9b::10.0.0.1": "10.0.0.1", "64:ff9b::7f00:1": "127.0.0.1",
		"64:ff9b:1::a00:1": "64:ff9b:1::a00:1", "2002:a00:1::1": "10.0.0.1", "2001:0:a00:1::": "2001:0:a00:1::",
	} {
		plain, near := Is(netip.MustParseAddr(address))
		if near != (want != "") || near && plain.String() != want {
			t.Errorf("%s: %s, %v", address, plain, near)
		}
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip := netip.MustParsePrefix(a.String()).Addr(); !own(ip) {
			t.Errorf("%s is not taken for this machine's", ip)
		}
	}
}
