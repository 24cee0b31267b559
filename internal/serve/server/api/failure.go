package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
)

// Failure is the body of an answer with a status that is not 2xx.
type Failure struct {
	Error Fault `json:"error"`
	// Approval is the one that is there, if the error is about one.
	Approval *Approval `json:"approval,omitempty"`
}

// Fault says why a request failed.
type Fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Status and By are those of the approval, for the code "settled".
	Status string     `json:"status,omitempty"`
	By     *Principal `json:"by,omitempty"`
}

// settled is the code of an approval.Settled.
const settled = "settled"

// faults are the errors of brokers that a client gets back as they are, with their codes.
var faults = []struct {
	err    error
	code   string
	status int
}{
	{approval.ErrUnknown, "approval_not_found", http.StatusNotFound},
	{approval.ErrOther, "other_request", http.StatusConflict},
	{approval.ErrNoSay, "no_say", http.StatusForbidden},
	{approval.ErrTwice, "voted_already", http.StatusConflict},
	{approval.ErrPending, "still_pending", http.StatusConflict},
	{approval.ErrBegun, "begun_already", http.StatusConflict},
	{approval.ErrNotBegun, "not_begun", http.StatusConflict},
	{approval.ErrDecide, "decide_anew", http.StatusConflict},
	{approval.ErrTerms, "impossible_terms", http.StatusBadRequest},
	{approval.ErrEvent, "no_such_event", http.StatusBadRequest},
}

// FromError returns what a client is told of the error of a broker, and the HTTP
// status; ok is false if the error is none of package approval, so that its text may
// not be for the client.
func FromError(err error) (f Fault, status int, ok bool) {
	var s *approval.Settled
	if errors.As(err, &s) {
		f = Fault{Code: settled, Message: s.Error(), Status: s.Status.String()}
		if s.By != (approval.Principal{}) {
			by := FromPrincipal(s.By)
			f.By = &by
		}
		return f, http.StatusConflict, true
	}
	for _, known := range faults {
		if errors.Is(err, known.err) {
			return Fault{Code: known.code, Message: known.err.Error()}, known.status, true
		}
	}
	return Fault{}, http.StatusInternalServerError, false
}

// Err returns the error that a fault stands for: one of package approval, if it is
// one of theirs.
func (f *Fault) Err() error {
	if f.Code == settled {
		return f.settled()
	}
	for _, known := range faults {
		if known.code == f.Code {
			return known.err
		}
	}
	return fmt.Errorf("%s (%s)", cmp.Or(f.Message, "the server gave no reason"), cmp.Or(f.Code, "no code"))
}

func (f *Fault) settled() error {
	s := &approval.Settled{}
	if err := s.Status.UnmarshalText([]byte(f.Status)); err != nil {
		return err
	}
	if f.By != nil {
		by, err := f.By.Principal()
		if err != nil {
			return err
		}
		s.By = by
	}
	return s
}

// VersionHeader is the header of every request and answer that says which Version of
// the interface it is of.
const (
	VersionHeader = "Agent-Wrapper-Api"
	Version       = "2" // since requests are signed
)
