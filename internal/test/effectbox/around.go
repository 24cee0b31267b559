//go:build linux

package effectbox

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The services of a box with an agent, for lines that try to reach them.
const (
	ServicePort = "7001" // TCP and UDP, on every address
	ServiceRun  = "/run/service.sock"
	ServiceSrv  = "/srv/service.sock"
	ServiceName = "@service" // without a path
)

// connect sends whatever leaves the box to its own loopback, which counts it.
func connect() error {
	for _, args := range []string{"link set lo up", "address add 192.0.2.1/24 dev lo", "route add default dev lo"} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	return nil
}

// around are the services.
type around struct {
	mu     sync.Mutex
	said   []string // what came in
	packet int      // a socket that gets every packet
}

func surround() (*around, error) {
	all := uint16(syscall.ETH_P_ALL)
	packet, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, int(all<<8|all>>8))
	if err != nil {
		return nil, err
	}
	a := &around{packet: packet}
	for _, at := range [][2]string{{"tcp", ":" + ServicePort}, {"unix", ServiceRun}, {"unix", ServiceSrv}, {"unix", ServiceName}} {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(at[1], "/") {
			if err := os.Chmod(at[1], 0o777); err != nil {
				return nil, err
			}
		}
		go a.accept(l)
	}
	udp, err := net.ListenPacket("udp", ":"+ServicePort)
	if err != nil {
		return nil, err
	}
	go a.receive(udp)
	return a, nil
}

func (a *around) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		a.hear(l.Addr().String(), nil)
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_, _ = c.Write([]byte(Secret + "\n"))
		c.Close()
	}
}

func (a *around) receive(c net.PacketConn) {
	buf := make([]byte, 256)
	for {
		n, _, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		a.hear("udp", buf[:n])
	}
}

func (a *around) hear(where string, what []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, fmt.Sprintf("%s %q", where, what))
}

// seen returns the counters of the interface.
func (a *around) seen() (string, error) {
	data, err := os.ReadFile("/proc/net/dev")
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 10 && fields[0] == "lo:" {
			return fields[2] + " " + fields[10], err
		}
	}
	return "", fmt.Errorf("/proc/net/dev has no lo: %w", err)
}

// Stranger is the address, and Strange a part of the names, of hosts that nobody trusts.
const (
	Stranger = "192.0.2.1"
	Strange  = "example"
)

// strange returns the packets since the last call that go to a stranger, or that name one.
func (a *around) strange() (found []string) {
	stranger := net.ParseIP(Stranger).To4()
	buf := make([]byte, 64<<10)
	for {
		n, _, err := syscall.Recvfrom(a.packet, buf, syscall.MSG_DONTWAIT)
		if err != nil {
			return found
		}
		const link, to = 14, 16 // of a frame, and of IPv4
		if p := buf[:n]; n >= link+to+4 && (p[link]>>4 == 4 && bytes.Equal(p[link+to:link+to+4], stranger) || bytes.Contains(p, []byte(Strange)) || shows(p)) {
			found = append(found, fmt.Sprintf("%.80q", p[link:]))
		}
	}
}

// network finds what reached the services and the interface.
func (s *server) network(o *Outcome, before string) error {
	after, err := s.around.seen()
	if err != nil {
		return err
	}
	if after != before {
		o.breach(Packets, before+" packets before, "+after+" after")
	}
	s.around.mu.Lock()
	defer s.around.mu.Unlock()
	for _, what := range s.around.said {
		o.breach(Reached, what)
	}
	s.around.said = nil
	if found := s.around.strange(); len(found) > 0 {
		o.breach(Sent, fmt.Sprint(len(found), " packets, the first: ", found[0]))
	}
	return nil
}
