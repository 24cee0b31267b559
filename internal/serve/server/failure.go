package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/api"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// failure is an error that the client is told as it is, with its HTTP status.
type failure struct {
	status   int
	fault    api.Fault
	approval *api.Approval // that it is about, if the client may see it
}

func (f *failure) Error() string { return f.fault.Message }

// fail returns an error for the client.
func fail(status int, code, format string, args ...any) error {
	return &failure{status: status, fault: api.Fault{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// The errors of several routes.
var (
	errForbidden = fail(http.StatusForbidden, "insufficient_permissions", "this credential may not do that")
	errInternal  = fail(http.StatusInternalServerError, "internal_error", "the request failed: see the server's log")
)

// sessionUnknown is the error for a session that is not there, or is another's.
func sessionUnknown(id string) error {
	return fail(http.StatusNotFound, "session_not_found", "Session not found: %s", id)
}

// told returns what a client is told of an error. The text of one that is not meant for
// clients stays in the log.
func told(err error) *failure {
	var f *failure
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &long):
		return &failure{status: http.StatusRequestEntityTooLarge, fault: api.Fault{Code: "body_too_large", Message: fmt.Sprintf("the body has more than %d bytes", long.Limit)}}
	case errors.Is(err, errNoCredential):
		return &failure{status: http.StatusUnauthorized, fault: api.Fault{Code: "unauthorized", Message: errNoCredential.Error()}}
	case errors.Is(err, errUnchecked):
		return &failure{status: http.StatusServiceUnavailable, fault: api.Fault{Code: "unavailable", Message: errUnchecked.Error()}}
	case errors.Is(err, errRevoked):
		return &failure{status: http.StatusUnauthorized, fault: api.Fault{Code: "unauthorized", Message: errRevoked.Error()}}
	case errors.Is(err, store.ErrUnknown):
		return &failure{status: http.StatusNotFound, fault: api.Fault{Code: "not_found", Message: "no such record exists"}}
	}
	if fault, status, ok := api.FromError(err); ok {
		return &failure{status: status, fault: fault}
	}
	_ = errors.As(errInternal, &f)
	return f
}

// write writes a body as JSON.
func write(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":{"code":"internal_error","message":"the response cannot be written"}}`)
	}
	h := w.Header()
	h["Content-Type"] = jsonType
	h.Set("Content-Length", strconv.Itoa(len(data)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // an error ends the connection
}

// jsonType is shared by all answers, and not changed.
var jsonType = []string{"application/json"}

// refuse answers a request with an error.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := told(err)
	if f.status >= http.StatusInternalServerError {
		s.log.Error("a request failed", "method", r.Method, "path", cmp.Or(r.Pattern, r.URL.Path), "error", err.Error())
	}
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", signed.Scheme+` realm="agent-wrapper"`)
	}
	if f.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	write(w, f.status, api.Failure{Error: f.fault, Approval: f.approval})
}
