package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/api"
)

// lease is how long the server waits for an asker of which it hears nothing: longer than
// a server takes to be started anew.
const lease = time.Minute

// Submit submits a question. Who asks is the owner of the token, and has to wait for the
// answer by Await: the server abandons the question when nobody has for a minute.
func (c *Client) Submit(ctx context.Context, e approval.Entry) (approval.Entry, error) {
	e.Lease = lease
	r := &request{method: http.MethodPost, body: api.FromSubmission(e), patience: short}
	got, _, err := c.one(ctx, r, e.ID, e.Digest)
	if err == nil && !got.Final() {
		c.remember(e.ID, e.Digest)
	}
	return got, err
}

// Answer answers a question. It is sent once: if the server's answer to it is lost, the
// error says that it may have counted. Who answers is the owner of the token.
func (c *Client) Answer(ctx context.Context, e approval.Event, reply json.RawMessage) (approval.Entry, error) {
	answer, err := api.FromEvent(e, reply)
	if err != nil {
		return approval.Entry{}, err
	}
	got, _, err := c.one(ctx, &request{method: http.MethodPost, id: e.ID, verb: "/answer", body: answer}, e.ID, e.Digest)
	if err == nil && !follows(&got, e.Kind) {
		err = fmt.Errorf("the server says that the approval is %s", got.Status)
	}
	return got, maybe(err)
}

// follows reports whether a status can be that after an answer.
func follows(e *approval.Entry, kind approval.Kind) bool {
	switch kind {
	case approval.Approve:
		return e.Status == approval.Approved || e.Status == approval.Consumed || e.Status == approval.Pending && e.Quorum > 1
	case approval.Deny:
		return e.Status == approval.Denied
	}
	return e.Status == approval.Superseded
}

// maybe adds to the error of a request which is not repeated that it may have counted.
func maybe(err error) error {
	var lost *unreachable
	if errors.As(err, &lost) {
		return fmt.Errorf("this may not have been recorded: %w", err)
	}
	return err
}

// Withdraw withdraws a question. Who does is the owner of the token, whatever by says.
func (c *Client) Withdraw(ctx context.Context, id string, by approval.Principal, reason string) (approval.Entry, error) {
	got, _, err := c.one(ctx, &request{method: http.MethodPost, id: id, verb: "/withdraw", body: api.Withdrawal{Reason: reason}}, id, "")
	return got, maybe(err)
}

// Consume uses an approval up. If an answer of the server was lost, and the approval is
// consumed when it is asked again, that was this call: nobody but its asker can consume
// an approval, and an asker does so once.
func (c *Client) Consume(ctx context.Context, id, digest string) (approval.Entry, error) {
	r := &request{method: http.MethodPost, id: id, verb: "/consume", body: api.Use{Digest: digest}, patience: short}
	got, doubtful, err := c.one(ctx, r, id, digest)
	var settled *approval.Settled
	if doubtful && errors.As(err, &settled) && settled.Status == approval.Consumed {
		got, _, err = c.one(ctx, &request{method: http.MethodGet, id: id, patience: short}, id, digest)
	}
	if err == nil && got.Status != approval.Consumed {
		return got, fmt.Errorf("the server says that the approval is %s", got.Status)
	}
	return got, err
}

// Get returns the entry with an ID.
func (c *Client) Get(ctx context.Context, id string) (approval.Entry, error) {
	got, _, err := c.one(ctx, &request{method: http.MethodGet, id: id, patience: long}, id, "")
	return got, err
}

// Await waits until an approval is no longer pending, and returns it.
func (c *Client) Await(ctx context.Context, id string) (approval.Entry, error) {
	query := url.Values{"wait": {strconv.Itoa(int(poll / time.Second))}}
	for {
		began := time.Now()
		e, _, err := c.one(ctx, &request{method: http.MethodGet, id: id, query: query, wait: poll, patience: long}, id, "")
		if err != nil || e.Status != approval.Pending {
			return e, err
		}
		if time.Since(began) < firstPause && !pause(ctx, firstPause) { // it does not wait
			return e, context.Cause(ctx)
		}
	}
}

// one sends a request that is answered by one approval, which has to have this ID and
// digest. With an error about the approval, e is the one that is there, if the server
// tells.
func (c *Client) one(ctx context.Context, r *request, id, digest string) (e approval.Entry, doubtful bool, err error) {
	if id == "" {
		return approval.Entry{}, false, approval.ErrUnknown
	}
	var a api.Approval
	r.answer = &a
	doubtful, failed := c.do(ctx, r)
	if failed != nil && a.ID == "" {
		return approval.Entry{}, doubtful, failed
	}
	if e, err = a.Entry(); err != nil {
		return approval.Entry{}, doubtful, fmt.Errorf("the server's answer: %w", err)
	}
	if failed != nil {
		digest = "" // the error may be that it has another
	}
	if e.ID != id || c.check(&e, digest) != nil {
		return approval.Entry{}, doubtful, errLies
	}
	return e, doubtful, failed
}

// The limits of a list.
const (
	pageSize = 100
	maxPages = 1000
)

// List lists entries in the order of their Seq.
func (c *Client) List(ctx context.Context, f approval.Filter) ([]approval.Entry, error) {
	var all []approval.Entry
	at := map[string]int{} // of an entry, by ID: one that changes meanwhile comes again
	for range maxPages {
		page := pageSize
		if f.Limit > 0 {
			page = min(page, f.Limit-len(all))
		}
		entries, err := c.page(ctx, &f, page)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if i, again := at[e.ID]; again {
				all[i] = e
				continue
			}
			at[e.ID] = len(all)
			all = append(all, e)
		}
		if len(entries) < page || f.Limit > 0 && len(all) >= f.Limit {
			return all, nil
		}
		f.After = entries[len(entries)-1].Seq
	}
	return nil, fmt.Errorf("the server returned more than %d approvals", maxPages*pageSize)
}

// page returns at most n of the entries that a filter is for, which follow f.After.
func (c *Client) page(ctx context.Context, f *approval.Filter, n int) ([]approval.Entry, error) {
	query := url.Values{"limit": {strconv.Itoa(n)}, "after": {strconv.FormatInt(f.After, 10)}}
	var statuses []string
	for _, s := range f.Status {
		statuses = append(statuses, s.String())
	}
	for name, value := range map[string]string{"status": strings.Join(statuses, ","), "project": f.Project, "session": f.Session} {
		if value != "" {
			query.Set(name, value)
		}
	}
	list, err := c.list(ctx, &request{query: query, patience: long})
	if err != nil {
		return nil, err
	}
	if len(list.Approvals) > n {
		return nil, errors.New("the server returned more approvals than requested")
	}
	return c.entries(list, f.After)
}

// entries returns the entries of a list, whose Seq are above after and grow.
func (c *Client) entries(list *api.List, after int64) (all []approval.Entry, err error) {
	for i := range list.Approvals {
		e, err := list.Approvals[i].Entry()
		if err != nil {
			return nil, fmt.Errorf("the server's answer: %w", err)
		}
		if e.Seq <= after {
			return nil, errors.New("the server returned approvals in the wrong order")
		}
		if err := c.check(&e, ""); err != nil {
			return nil, err
		}
		after = e.Seq
		all = append(all, e)
	}
	return all, nil
}

func (c *Client) list(ctx context.Context, r *request) (*api.List, error) {
	var list api.List
	r.method, r.answer = http.MethodGet, &list
	_, err := c.do(ctx, r)
	return &list, err
}

// poll is how long the server is asked to wait for a change.
const poll = 25 * time.Second

// Wait waits until something has changed after a Seq, and returns the newest.
func (c *Client) Wait(ctx context.Context, after int64) (int64, error) {
	query := url.Values{
		"limit": {"1"}, "after": {strconv.FormatInt(after, 10)}, "wait": {strconv.Itoa(int(poll / time.Second))},
	}
	for {
		began := time.Now()
		list, err := c.list(ctx, &request{query: query, wait: poll, patience: long})
		if err != nil || list.Seq > after {
			return list.Seq, err
		}
		if list.Seq < after {
			return 0, errors.New("the server has lost changes: it was replaced, or restored from a backup")
		}
		if time.Since(began) < firstPause && !pause(ctx, firstPause) { // it does not wait
			return 0, context.Cause(ctx)
		}
	}
}
