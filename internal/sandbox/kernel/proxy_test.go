//go:build sandbox && linux && (amd64 || arm64)

package kernel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/proxy"
)

// TestProxy: from inside the sandbox, a host that is allowed is reached through the proxy, and
// no other; without a proxy none is.
func TestProxy(t *testing.T) {
	out := &proxy.Proxy{
		Decide: func(_ context.Context, host, _ string) error {
			if host != "good.example" {
				return errors.New("no rule allows it")
			}
			return nil
		},
		Dial: func(context.Context, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() { io.WriteString(here, marker); here.Close() }()
			return there, nil
		},
	}
	defer out.Close()
	w := newWorld(t)
	const script = `echo "$HTTPS_PROXY"
for host in good.example evil.example; do
	exec 3<>/dev/tcp/127.0.0.1/3128 || exit 4
	printf 'CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n' $host $host >&3
	timeout 5 cat <&3
done
exec 3<>/dev/tcp/` + "${TCP%:*}/${TCP#*:} && echo direct"
	run := func(h *Held) string {
		var said bytes.Buffer
		c := &process.Command{Args: []string{"bash", "-c", script}, Dir: w.Work, Env: []string{"PATH=/usr/bin:/bin", "TCP=" + w.TCP}, Stdout: &said, Stderr: &said, Limit: time.Minute}
		_, err := h.Run(context.Background(), c)
		must(t, err)
		return said.String()
	}
	said := run(&Held{Plan: w.plan(), Proxy: out.Serve})
	for _, want := range []string{"http://127.0.0.1:3128", "200 Connection established", marker, "403 Forbidden", "evil.example is not reached"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in %s", want, said)
		}
	}
	if strings.Contains(said, "direct\n") || strings.Count(said, marker) != 1 {
		t.Errorf("there is another way out: %s", said)
	}
	if said := run(&Held{Plan: w.plan()}); strings.Contains(said, "200") || strings.Contains(said, marker) {
		t.Errorf("without a proxy: %s", said)
	}
}

// TestProbe: a sandbox can be built where the tests run, and a layer that cannot be built is
// named.
func TestProbe(t *testing.T) {
	if err := Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	plan := w.plan()
	plan.Writable[0].Path = w.Root + "/none"
	_, err := (&Held{Plan: plan}).Run(t.Context(), &process.Command{Args: []string{"/bin/true"}, Dir: w.Out})
	no := new(missing)
	if !errors.As(err, &no) || no.layer != "mounts" || !strings.Contains(err.Error(), "/none") {
		t.Errorf("%v", err)
	}
	_, err = (&Held{Plan: w.plan()}).Run(t.Context(), &process.Command{Args: []string{w.Work + "/mine"}, Dir: w.Work})
	not := new(process.NotStarted)
	if !errors.As(err, &not) {
		t.Errorf("a program that cannot run: %v", err)
	}
}
