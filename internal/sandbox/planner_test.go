package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// remembering returns the same Listing of a directory as long as nothing changes there.
type remembering struct {
	fake
	known map[string]*Listing
	again int
}

func (r *remembering) List(dir string) (*Listing, error) {
	l, err := r.fake.List(dir)
	if err != nil {
		return nil, err
	}
	if old := r.known[dir]; old != nil && reflect.DeepEqual(old, l) {
		r.again++
		return old, nil
	}
	r.known[dir] = l
	return l, nil
}

// TestPlanner: a plan that is made after others is what it would be without them, whatever
// has changed meanwhile: files, the rules of the session, its mode, the policy.
func TestPlanner(t *testing.T) {
	slow.Test(t)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	policies := []*permission.Policy{
		policy(t, "Read(secrets/**); Read(/srv/a/**); Edit(sub/*.json)", "WebFetch(example.com); Read(sub/.env)"),
		policy(t, "Read(**/*.kdbx); Edit(.envrc)", ""),
	}
	more := []string{
		"/home/me/ws/sub/p.json", "/home/me/ws/x.kdbx", "/home/me/ws/sub/x.kdbx", "/home/me/ws/.envrc", "/home/me/ws/sub/copied.kdbx", "/home/me/ws/link -> /home/me/ws/secrets",
		"/home/me/ws/sub/link -> /srv/a/x", "/home/me/ws/new/secrets/x", "/home/me/ws/secrets/.git/config", "/home/me/ws/bare/HEAD", "/home/me/ws/conf/key", "/srv/a/new", "/home/me/ws/conf/HEAD",
		"/home/me/ws/conf/objects/a", "/home/me/ws/conf/refs/a",
	}
	session := permission.NewSession(place)
	files := &remembering{fake: slices.Clone(files), known: map[string]*Listing{}}
	var pl Planner
	p := policies[0]
	for i := range 600 {
		switch n := r.IntN(40); {
		case n == 0:
			if err := session.Deny([]string{"Read(conf/**)", "Edit(sub/**)", "Read(new/**)", "Edit"}[min(i/150, 3)]); err != nil {
				t.Fatal(err)
			}
		case n == 1:
			session.SetMode([]modes.Mode{modes.Plan, modes.Default}[r.IntN(2)])
		case n == 2:
			p = policies[r.IntN(2)]
		case n == 4:
			p.Guarded = append(p.Guarded, []string{"/home/me/ws/a.go", "/home/me/ws/sub/x.kdbx", "/home/me/ws/conf/key"}[r.IntN(3)]) // as the record's file, which is known late
		case n == 3:
			session = permission.NewSession(place)
		case n < 20:
			files.fake = append(files.fake, more[r.IntN(len(more))])
		default:
			at := r.IntN(len(files.fake))
			files.fake = slices.Delete(slices.Clone(files.fake), at, at+1)
			if len(files.fake) < 20 {
				files.fake = append(files.fake, more...)
			}
		}
		got, err := pl.Make(p, session, machine(), files)
		want, wantErr := new(Planner).Make(p, session, machine(), files.fake)
		if err != nil || wantErr != nil {
			t.Fatal(seed, err, wantErr)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d, plan %d:\n%s\nwant\n%s", seed, i, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
		}
	}
	if files.again < 1000 {
		t.Errorf("only %d listings were the same", files.again)
	}
	if len(pl.found) > 200 || len(pl.bound) > maxBound {
		t.Errorf("%d directories and %d bounds are kept", len(pl.found), len(pl.bound))
	}
}

// TestPlannerForgets: directories that are gone are not kept for ever.
func TestPlannerForgets(t *testing.T) {
	var pl Planner
	p := policy(t, "", "")
	for i := range 5 * forgetEvery {
		with := append(slices.Clone(files), fmt.Sprintf("/home/me/ws/new%d/x", i))
		if _, err := pl.Make(p, nil, machine(), with); err != nil {
			t.Fatal(err)
		}
	}
	if len(pl.found) > 2*forgetEvery+50 {
		t.Errorf("%d directories are kept", len(pl.found))
	}
}

// failing cannot list a directory.
type failing struct {
	fake
	dir string
}

func (f failing) List(dir string) (*Listing, error) {
	if dir == f.dir {
		return nil, errors.New("too many open files")
	}
	return f.fake.List(dir)
}

// TestNotListed: there is no plan if a directory could be listed, and was not.
func TestNotListed(t *testing.T) {
	for _, dir := range []string{"/home/me/ws", "/home/me/ws/sub", "/srv/deep", "/srv/deep/1"} {
		if _, err := new(Planner).Make(policy(t, "Read(/srv/deep/**/key)", ""), nil, machine(), failing{files, dir}); err == nil || !strings.Contains(err.Error(), "too many open files") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
