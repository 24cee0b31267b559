//go:build linux && postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/storetest"
	"github.com/agent-wrapper/agent-wrapper/internal/test/brokertest"
	"github.com/agent-wrapper/agent-wrapper/internal/test/pg"
)

// Every guarantee of a store holds here.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t testing.TB) func() store.Store {
		url := server.Database(t)
		return func() store.Store { return opened(t, url) }
	})
}

// So does every guarantee of a broker.
func TestBroker(t *testing.T) {
	brokertest.Run(t, func(t *testing.T, now func() time.Time) approval.Broker {
		s, err := open(t.Context(), server.Database(t), options{notify: channel, listen: channel, poll: poll, now: now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	})
}

// hold locks a table against changes until the returned function is called.
func hold(t *testing.T, url, table string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE "+table+" IN EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
			t.Error(err)
		}
		conn.Close(context.Background())
	}
}

// What is asked at one server is answered at another: at once if it is notified, and
// within a second if it is not.
func TestAcross(t *testing.T) {
	tests := []struct {
		name   string
		o      options
		within time.Duration
	}{
		{"notified", options{notify: channel, listen: channel, poll: time.Hour}, 100 * time.Millisecond},
		{"not notified", options{notify: channel, listen: "nobody notifies", poll: poll}, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := server.Database(t)
			asker, err := open(t.Context(), url, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			defer asker.Close()
			person := opened(t, url)
			first, stop := context.WithCancel(t.Context())
			defer stop()
			go asker.Wait(first, 1<<62) // who comes first looks at once
			var took []time.Duration
			for i := range 5 {
				id := fmt.Sprint(i)
				asked, err := asker.Submit(t.Context(), terms(id))
				if err != nil {
					t.Fatal(err)
				}
				told := make(chan time.Time)
				go func() {
					if seq, err := asker.Wait(t.Context(), asked.Seq); err != nil || seq <= asked.Seq {
						t.Errorf("%d, %v", seq, err)
					}
					told <- time.Now()
				}()
				if _, err := person.Answer(t.Context(), approve(id), []byte(`{}`)); err != nil {
					t.Fatal(err)
				}
				answered := time.Now()
				took = append(took, (<-told).Sub(answered))
				if e, err := asker.Get(t.Context(), id); err != nil || e.Status != approval.Approved {
					t.Errorf("%v, %v", e.Status, err)
				}
			}
			slices.Sort(took)
			t.Logf("%v", took)
			if took[2] > tt.within { // the machine may be busy
				t.Errorf("it took %v", took)
			}
		})
	}
}

// The connection that listens is replaced when it is lost, and what was missed in
// between is looked for.
func TestListensAgain(t *testing.T) {
	url := server.Database(t)
	config, err := configuration(url)
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string)
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() { listen(ctx, config, "Ring \"it", func(payload string) { heard <- payload }) })
	for i := range 3 {
		if got := <-heard; got != "" {
			t.Errorf("after LISTEN: %q", got)
		}
		server.Exec(t, url, fmt.Sprintf(`NOTIFY "Ring ""it", '%d'`, i))
		if got := <-heard; got != fmt.Sprint(i) {
			t.Errorf("heard %q, want %d", got, i)
		}
		server.Exec(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	}
	if got := <-heard; got != "" {
		t.Errorf("after LISTEN: %q", got)
	}
	cancel()
	listening.Wait()
}

// A number that somebody makes up is not that of a change.
func TestMadeUp(t *testing.T) {
	url := server.Database(t)
	s, err := open(t.Context(), url, options{notify: channel, listen: channel, poll: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	waiting := make(chan int64)
	go func() {
		seq, err := s.Wait(t.Context(), 0)
		if err != nil {
			t.Error(err)
		}
		waiting <- seq
	}()
	server.Exec(t, url, "NOTIFY agent_wrapper, '999999'")
	e, err := opened(t, url).Submit(t.Context(), terms("a"))
	if err != nil {
		t.Fatal(err)
	}
	if seq := <-waiting; seq != e.Seq {
		t.Errorf("the number is %d, want %d", seq, e.Seq)
	}
}

// A connection outlives a silence, and hears what comes then.
func TestSilence(t *testing.T) {
	url := server.Database(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "LISTEN x"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := awaited(t.Context(), conn, 50*time.Millisecond); err != nil || got != "" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	server.Exec(t, url, "NOTIFY x, 'y'")
	if got, err := awaited(t.Context(), conn, time.Minute); err != nil || got != "y" {
		t.Errorf("%q, %v", got, err)
	}
}

// A reader who goes on after the greatest number that he has seen misses nothing,
// however many write.
func TestNoneMissed(t *testing.T) {
	const writers, each = 8, 40
	url := server.Database(t)
	stores := []*Store{opened(t, url), opened(t, url), opened(t, url)}
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				if _, err := stores[w%2].Submit(t.Context(), terms(fmt.Sprintf("%d-%d", w, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	seen := map[string]bool{}
	for after := int64(0); len(seen) < writers*each && !t.Failed(); {
		list, err := stores[2].List(t.Context(), approval.Filter{After: after, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if e.Seq <= after || seen[e.ID] {
				t.Errorf("%s with number %d after %d", e.ID, e.Seq, after)
			}
			after, seen[e.ID] = e.Seq, true
		}
		if len(list) == 0 {
			waiting, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err = stores[2].Wait(waiting, after)
			cancel()
			if err != nil {
				t.Errorf("%d of %d were seen: %v", len(seen), writers*each, err)
			}
		}
	}
	writing.Wait()
}

// Of two that submit the same at once, the later gets what the earlier has made.
func TestSubmittedAtOnce(t *testing.T) {
	url := server.Database(t)
	stores := []*Store{opened(t, url), opened(t, url)}
	release := hold(t, url, "counters")
	var group sync.WaitGroup
	entries := make([]approval.Entry, 2)
	for i, s := range stores {
		group.Go(func() {
			var err error
			if entries[i], err = s.Submit(t.Context(), terms("a")); err != nil {
				t.Error(err)
			}
		})
	}
	blocked(t, url, 2) // both have seen that there is none
	release()
	group.Wait()
	if entries[0].Seq != entries[1].Seq || !entries[0].Asked.Equal(entries[1].Asked) {
		t.Errorf("two entries: %+v", entries)
	}
}

// Of two that use an approval up at once, one does.
func TestUsedAtOnce(t *testing.T) {
	url := server.Database(t)
	stores := []*Store{opened(t, url), opened(t, url)}
	asked := approved(t, stores[0], "a")
	release := hold(t, url, "counters")
	var group sync.WaitGroup
	errs := make([]error, 2)
	for i, s := range stores {
		group.Go(func() { _, errs[i] = s.Consume(t.Context(), "a", asked.Digest) })
	}
	blocked(t, url, 2)
	release()
	group.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("%v, %v", errs[0], errs[1])
	}
}

// Who is heard of while the store looks for the silent is not abandoned.
func TestHeardMeanwhile(t *testing.T) {
	url := server.Database(t)
	one, two := opened(t, url), opened(t, url)
	var asked time.Time
	for _, id := range []string{"a", "b"} {
		e := terms(id)
		e.Lease = time.Minute
		e, err := one.Submit(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		asked = e.Asked
	}
	release := hold(t, url, "counters")
	var group sync.WaitGroup
	group.Go(func() {
		if gone, err := one.Lapse(t.Context(), asked.Add(-time.Hour), asked.Add(time.Hour)); err != nil || len(gone) != 1 || gone[0].ID != "a" {
			t.Errorf("%+v, %v", gone, err)
		}
	})
	blocked(t, url, 1) // it has found both, and ends the first
	if err := two.Heard(t.Context(), asked.Add(time.Hour), []string{"b"}); err != nil {
		t.Error(err)
	}
	release()
	group.Wait()
	if e, err := two.Get(t.Context(), "b"); err != nil || e.Status != approval.Pending {
		t.Errorf("%s, %v", e.Status, err)
	}
}

// An empty database may be opened by several at once.
func TestOpenedAtOnce(t *testing.T) {
	url := server.Database(t)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() { opened(t, url) })
	}
	group.Wait()
	if got := server.Exec(t, url, "SELECT count(DISTINCT version) = count(*) AND count(*) > 0 FROM migrations"); got != "t" {
		t.Error("migrated twice")
	}
}

// What cannot hold a store is refused with the reason, at once and without showing a
// password.
func TestRefused(t *testing.T) {
	url := server.Database(t)
	opened(t, url)
	newer := server.Database(t)
	opened(t, newer)
	server.Exec(t, newer, "INSERT INTO migrations SELECT max(version) + 1, 'later', '' FROM migrations")
	other := server.Database(t)
	opened(t, other)
	server.Exec(t, other, "UPDATE migrations SET sum = 'another'")
	server.Exec(t, "postgres", "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0")
	server.Exec(t, "postgres", "CREATE DATABASE readonly")
	server.Exec(t, "postgres", "ALTER DATABASE readonly SET default_transaction_read_only = on")
	named := func(database string) string {
		return url[:strings.LastIndex(url, "/")+1] + database + "?sslmode=disable"
	}
	wrong := strings.Replace(url, pg.Password, pg.Password+"1", 1)
	tests := []struct{ name, url, want string }{
		{"later schema", newer, "a later agent-wrapper wrote it"},
		{"other schema", other, "another agent-wrapper wrote it"},
		{"encoding", named("ascii"), "the database's encoding is SQL_ASCII"},
		{"no database", named("nowhere"), "3D000"},
		{"standby", named("readonly"), "read only"},
		{"wrong password", wrong, "28P01"},
		{"nobody listens", "postgres://u:" + pg.Password + "@127.0.0.1:1/d", "connection refused"},
		{"no address", strings.Replace(url, "127.0.0.1:", "127.0.0.1:none", 1), "no PostgreSQL URL"},
		{"no certificate", url[:strings.Index(url, "?")] + "?sslmode=verify-full&sslrootcert=/none/" + "root.crt", "/none/root.crt"},
		{"another kind", "mysql://u:" + pg.Password + "@h/d", "no PostgreSQL URL"},
		{"not a URL", "host=h password=" + pg.Password, "no PostgreSQL URL"},
	}
	for _, tt := range tests {
		began := time.Now()
		s, err := Open(t.Context(), tt.url)
		if err == nil {
			t.Errorf("%s: opened", tt.name)
			s.Close()
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %v", tt.name, took)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "sesame") {
				t.Errorf("%s: the password is in %s", tt.name, text)
			}
			if as := (*pgconn.ConnectError)(nil); errors.As(err, &as) {
				t.Errorf("%s: the error holds the configuration", tt.name)
			}
		}
	}
	for _, line := range server.Log() {
		if strings.Contains(line, "sesame") {
			t.Errorf("PostgreSQL logged %s", line)
		}
	}
}

// The settings of a connection are ours, unless the URL says otherwise.
func TestSettings(t *testing.T) {
	s, err := configuration(server.Database(t) + "&statement_timeout=77&synchronous_commit=remote_apply")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := newConnector(s).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	pgConn := conn.(interface{ Conn() *pgx.Conn }).Conn()
	for name, want := range map[string]string{
		"statement_timeout": "77ms", "lock_timeout": "10s", "idle_in_transaction_session_timeout": "30s",
		"application_name": "agent-wrapper", "synchronous_commit": "remote_apply",
	} {
		var got string
		if err := pgConn.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, want %q: %v", name, got, want, err)
		}
	}
}
