package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/api"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
	"github.com/agent-wrapper/agent-wrapper/internal/text/plain"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// maxBody is the size of the longest answer in bytes that is read.
const maxBody = 32 << 20

// request is a request to the server.
type request struct {
	method   string
	path     string // "" means /api/approvals, with the id and the verb
	id, verb string // of the approval; what is done with it, "/answer"
	query    url.Values
	body     any
	answer   any           // a pointer, into which the answer is decoded
	patience time.Duration // how long it is repeated while the server cannot be reached
	wait     time.Duration // how long the server may take for it, besides timeout
}

// timeout is the time that the server has for an answer.
const timeout = 10 * time.Second

// How long requests are repeated.
const (
	short = 2 * time.Second
	long  = 30 * time.Second // while something waits: a server may be started anew
)

// The pauses before a request is repeated.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// unreachable is the error if a request may not have reached the server, or its answer
// not the client.
type unreachable struct {
	error
	after time.Duration // to be repeated not before that
}

func (u *unreachable) Unwrap() error { return u.error }

// do sends a request until there is an answer to it. Doubtful says that an earlier
// sending of it may have been obeyed.
func (c *Client) do(ctx context.Context, r *request) (doubtful bool, err error) {
	end := time.Now().Add(r.patience)
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		err := c.once(ctx, r)
		var lost *unreachable
		if !errors.As(err, &lost) {
			return doubtful, err
		}
		if ctx.Err() != nil {
			return true, context.Cause(ctx)
		}
		doubtful = true
		wait := max(wait, lost.after)
		if time.Now().Add(wait).After(end) {
			return true, fmt.Errorf("the approval service at %s cannot be reached: %w", c.base.Host, err)
		}
		if !pause(ctx, wait) {
			return true, context.Cause(ctx)
		}
	}
}

// once sends a request once.
func (c *Client) once(ctx context.Context, r *request) error {
	ctx, cancel := context.WithTimeout(ctx, timeout+r.wait)
	defer cancel()
	q, err := c.newRequest(ctx, r)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(q)
	var other *signed.UnprovedError
	if errors.As(err, &other) {
		return other
	}
	if err != nil {
		return &unreachable{error: reason(err)}
	}
	defer resp.Body.Close()
	if err := checkVersion(resp); err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return &unreachable{error: reason(err)}
	case len(body) > maxBody:
		return fmt.Errorf("the server's answer is longer than %d bytes", maxBody)
	case resp.StatusCode != http.StatusOK:
		return r.failure(resp, body)
	}
	return decode(resp, body, r.answer)
}

// failed is the reason of a failed request, in words.
type failed struct{ error }

func (f failed) Error() string { return plain.Text(f.error) }

func (f failed) Unwrap() error { return f.error }

// reason returns the reason of a failed request without the request's URL.
func reason(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return failed{err}
}

func (c *Client) newRequest(ctx context.Context, r *request) (*http.Request, error) {
	u := *c.base
	u.Path, u.RawPath = "/api/approvals", "/api/approvals"
	if r.path != "" {
		u.Path, u.RawPath = r.path, r.path
	}
	if r.id != "" {
		u.Path += "/" + r.id + r.verb
		u.RawPath += "/" + url.PathEscape(r.id) + r.verb
	}
	u.RawQuery = r.query.Encode()
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	q, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, err
	}
	q.Header.Set(api.VersionHeader, api.Version)
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	return q, nil
}

// checkVersion checks that an answer comes from a server of this version. What stands
// before a server may answer for it, but only that it cannot be reached.
func checkVersion(resp *http.Response) error {
	switch version := resp.Header.Get(api.VersionHeader); {
	case version == api.Version:
		return nil
	case version != "":
		return fmt.Errorf("the server uses API version %s, but this program uses version %s: install the same version of agent-wrapper on both", visible.Line(brief(version)), api.Version)
	case unavailable(resp.StatusCode):
		return &unreachable{error: fmt.Errorf("the server answered with status %d", resp.StatusCode)}
	case resp.StatusCode/100 == 3:
		return fmt.Errorf("the server answered with status %d: redirects are not followed, so give its final URL", resp.StatusCode)
	}
	return fmt.Errorf("something other than agent-wrapper serve answered (status %d): check the URL", resp.StatusCode)
}

// unavailable reports whether a status says that the server may answer later.
func unavailable(status int) bool {
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return true
	}
	return false
}

// failure returns the error for an answer that is none. The approval that comes with
// it is the answer nevertheless.
func (r *request) failure(resp *http.Response, body []byte) error {
	var f api.Failure
	if err := decode(resp, body, &f); err != nil {
		return fmt.Errorf("the server answered with status %d: %w", resp.StatusCode, err)
	}
	f.Error.Code, f.Error.Message = visible.Line(brief(f.Error.Code)), visible.Line(brief(f.Error.Message))
	if a, ok := r.answer.(*api.Approval); ok && f.Approval != nil && resp.Header.Get(signed.ProofHeader) != "" {
		*a = *f.Approval
	}
	if r.verb == "/answer" && f.Error.Code == forbidden {
		return approval.ErrNoSay
	}
	if r.method == http.MethodPost && r.id+r.path == "" && f.Error.Code == forbidden {
		return errors.New("only agents can ask, but this token is not an agent's: create one with agent-wrapper serve token create")
	}
	err := f.Error.Err()
	if unavailable(resp.StatusCode) {
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return &unreachable{err, time.Duration(min(max(seconds, 0), 3600)) * time.Second}
	}
	return err
}

// forbidden is the code for what the role of the credential may not do.
const forbidden = "insufficient_permissions"

// brief returns at most the first 1,000 bytes of a text of the server.
func brief(text string) string { return text[:min(len(text), 1000)] }

// decode decodes an answer. Keys that this program does not know are ignored: the
// server may be newer.
func decode(resp *http.Response, body []byte, v any) error {
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return errors.New("the server's answer is not JSON")
	}
	if err := strictjson.Decode(body, v, strictjson.IgnoreUnknown, strictjson.NullAbsent, strictjson.MaxSize(maxBody)); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	return nil
}
