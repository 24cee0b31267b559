package webhook

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Only 2xx is taken, and a redirect is not followed, neither to another host nor to the
// same one.
func TestPost(t *testing.T) {
	for code, want := range map[int]string{
		200: "", 202: "", 301: "a redirect is not followed", 307: "a redirect is not followed", 400: "answered 400 Bad Request", 500: "answered 500",
	} {
		asked := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if asked++; r.Method != http.MethodPost || string(body) != `{"a":1}` || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s", r.Method, body)
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
		}))
		err := Post(t.Context(), nil, s.URL, []byte(`{"a":1}`))
		s.Close()
		if asked != 1 || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: asked %d times, %v", code, asked, err)
		}
	}
}

// An error says why in words, and never the address.
func TestErrors(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	unsafe := httptest.NewTLSServer(nil)
	unsafe.Config.ErrorLog = nil
	defer unsafe.Close()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, end := context.WithTimeout(t.Context(), 0)
	defer end()
	for _, c := range []struct {
		ctx           context.Context
		address, want string
	}{
		{t.Context(), gone.URL + "/hunter2hunter2", "nothing listens at the webhook's address"},
		{t.Context(), unsafe.URL + "/hunter2hunter2", "certificate is not valid"},
		{t.Context(), "https://x\x00/hunter2hunter2", "is not a URL"},
		{cancelled, gone.URL + "/hunter2hunter2", "cannot be reached"},
		{late, gone.URL + "/hunter2hunter2", "did not answer in time"},
	} {
		err := Post(c.ctx, nil, c.address, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	for err, want := range map[error]string{
		&net.DNSError{Err: "no such host", Name: "chat.example"}: "the webhook's host is not found",
		errors.New("?token=hunter2hunter2"):                      "cannot be reached",
	} {
		if got := inWords(err).Error(); !strings.Contains(got, want) || strings.Contains(got, "hunter2") || strings.Contains(got, "chat.example") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
