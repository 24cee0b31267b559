//go:build linux && serve

package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/coder/websocket"
)

// view is what somebody has seen who watches the events, from one server to the next.
type view struct {
	cursor int64            // of the last message
	seqs   map[string]int64 // of what was seen, by approval
}

// message is what the judge needs of one.
type message struct {
	Type     string `json:"type"`
	Cursor   int64  `json:"cursor"`
	Approval struct {
		ID  string `json:"id"`
		Seq int64  `json:"seq"`
	} `json:"approval"`
}

// watch watches the events of a server until it is killed, or the returned function is
// called.
func (w *world) watch(s *server) (end func()) {
	ctx, cancel := context.WithCancel(s.alive)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.view.read(ctx, s, "") // it ends by being cut off
	}()
	return func() { cancel(); <-done }
}

// read notes the events of a server up to the first message of a type.
func (v *view) read(ctx context.Context, s *server, last string) error {
	url := s.url + "/api/events?after=" + strconv.FormatInt(v.cursor, 10)
	web := &http.Client{Transport: s.web(ann).Transport} // without a time limit
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: web, Subprotocols: []string{"agent-wrapper"}})
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(-1)
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(text, &m); err != nil {
			return err
		}
		if m.Type == "approval" {
			v.seqs[m.Approval.ID] = max(v.seqs[m.Approval.ID], m.Approval.Seq)
		}
		v.cursor = max(v.cursor, m.Cursor)
		if m.Type == last {
			return nil
		}
	}
}

// judgeView checks that who watches and comes back has seen the last change of everything.
func (sc *scene) judgeView() {
	ctx, cancel := context.WithTimeout(sc.servers[0].alive, patience)
	defer cancel()
	if err := sc.view.read(ctx, sc.servers[0], "current"); err != nil {
		sc.wrong("the events cannot be watched: %v", err)
		return
	}
	for id, e := range sc.approvals {
		if sc.view.seqs[id] < e.Seq {
			sc.wrong("who watches has not seen that %s is %s (change %d, and saw %d)", id, e.Status, e.Seq, sc.view.seqs[id])
		}
	}
}
