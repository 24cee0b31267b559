// Package webhook posts JSON to an address that a person has given. The address is often
// a secret itself: no error names it.
package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
)

// Limit is how long a request may take.
const Limit = 10 * time.Second

// Post sends a JSON body, with client or, if that is nil, a zero Client. It does not
// follow redirects: only the address that was given is meant to have it. The error says
// in words why it was not taken.
func Post(ctx context.Context, client *http.Client, address string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the webhook is not a URL")
	}
	req.Header.Set("Content-Type", "application/json")
	c := http.Client{Timeout: Limit}
	if client != nil {
		c = *client
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := c.Do(req)
	if err != nil {
		return inWords(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // lets the connection be reused
	switch resp.StatusCode / 100 {
	case 2:
		return nil
	case 3:
		return fmt.Errorf("the webhook answered %s, and a redirect is not followed", resp.Status)
	}
	return fmt.Errorf("the webhook answered %s", resp.Status)
}

// inWords returns an error of the client in words, without the address.
func inWords(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	var name *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("the webhook did not answer in time")
	case errors.As(err, &name):
		return errors.New("the webhook's host is not found")
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("nothing listens at the webhook's address")
	case errors.As(err, &cert):
		return errors.New("the webhook's certificate is not valid here")
	}
	text, _ := mask.Text(err.Error())
	return errors.New("the webhook cannot be reached: " + text)
}
