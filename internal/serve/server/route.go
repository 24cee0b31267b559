package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// access says whose credentials a route takes.
type access uint8

const (
	agents access = 1 << iota
	people        // and administrators
	admins
	codes             // that let one browser in
	anyone access = 0 // no credential is needed
)

// route is a row of the table that the server, its OpenAPI description and the page
// docs/reference/api.md are made of.
type route struct {
	method, path string
	access       access
	about        string // one line, for people
	query        []param
	action       action
	// stream is a handler that writes its answer itself, in place of action. Answer says
	// what that is.
	stream func(*Server, http.ResponseWriter, *call)
	answer string
	// errors are the statuses of errors, besides those of every route.
	errors []int
}

// param is a parameter in the query.
type param struct{ name, about string }

// call is a request. Its context ends with the credential.
type call struct {
	*http.Request
	who   *store.Token  // nil on routes for anyone
	stamp *signed.Stamp // nil if it was not signed
}

// principal returns who the owner of the credential is to approvals.
func (c *call) principal() approval.Principal {
	if c.person() {
		return approval.Principal{Role: approval.Person, Name: c.who.Name}
	}
	return approval.Principal{Role: approval.Agent, Name: c.who.Name}
}

// person reports whether the credential is a person's.
func (c *call) person() bool { return c.who.Role != RoleAgent }

// role returns the bit of the credential's role.
func (c *call) role() access {
	if kindOf(c.who.ID) == kindCode {
		return codes
	}
	switch c.who.Role {
	case RolePerson:
		return people
	case RoleAdmin:
		return people | admins
	case RoleAgent:
		return agents
	}
	return 0
}

// action answers a call with a value that is written as JSON. In and out are the types
// of the body and of the answer.
type action struct {
	in, out reflect.Type
	run     func(*Server, *call, []byte) (any, error)
}

// none is the type of no body.
type none struct{}

// to returns the action of a handler.
func to[In, Out any](handle func(*Server, *call, *In) (Out, error)) action {
	in := reflect.TypeFor[In]()
	return action{in, reflect.TypeFor[Out](), func(s *Server, c *call, body []byte) (any, error) {
		v := new(In)
		if in != reflect.TypeFor[none]() {
			if err := decode(body, v); err != nil {
				return nil, err
			}
		} else if len(bytes.TrimSpace(body)) > 0 && string(bytes.TrimSpace(body)) != "{}" {
			return nil, fail(http.StatusBadRequest, "bad_request", "the body: this request takes no body")
		}
		return handle(s, c, v)
	}}
}

// decode decodes a body. It is strict: what the server would not heed, it does not take.
func decode(body []byte, v any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	if err := strictjson.Decode(body, v, strictjson.NullAbsent, strictjson.MaxSize(maxBody)); err != nil {
		return fail(http.StatusBadRequest, "bad_request", "the body: %v", err)
	}
	return nil
}

// body reads the body of a request. Its deadline, see hurry, ends with it: a wait would
// be taken for a client that is gone.
func body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, &http.MaxBytesError{Limit: maxBody}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fail(http.StatusRequestTimeout, "too_slow", "the body took too long to arrive")
	}
	if err == nil {
		err = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	if err != nil {
		return nil, err
	}
	if len(data) > 0 && !isJSON(r.Header.Get("Content-Type")) {
		return nil, fail(http.StatusUnsupportedMediaType, "not_json", "the body must be JSON: send Content-Type: application/json")
	}
	return data, nil
}

// with returns the call with another context.
func (c *call) with(ctx context.Context) *call {
	return &call{c.Request.WithContext(ctx), c.who, c.stamp}
}
