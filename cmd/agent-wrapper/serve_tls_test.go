package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/client"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// certificate writes a certificate for this machine that nobody has signed, and its key.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	public, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: public}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(public)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(parsed)
	return cert, key, roots
}

// TestServeTLS: with a certificate nothing is said in the clear, and a client that does not
// know who has signed it says nothing.
func TestServeTLS(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	cert, key, roots := certificate(t)
	state := filepath.Join(t.TempDir(), "state")
	secret := strings.TrimSpace(ranAs(t, 0, "serve", "token", "create", "--role", "person", "--name", "ann", "--state", state))
	ctx, end := context.WithCancel(t.Context())
	defer end()
	read, write := io.Pipe()
	var log bytes.Buffer
	ended := make(chan int)
	go func() {
		a := &app{out: write, err: &log}
		ended <- a.run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--state", state, "--cwd", t.TempDir(), "--isolated", "--json", "--tls-cert", cert, "--tls-key", key})
	}()
	line, err := bufio.NewReader(read).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var at serving
	decode(t, string(line), &at)
	host, secure := strings.CutPrefix(at.Listening, "https://")
	if !secure {
		t.Fatalf("%s", line)
	}
	for name, tt := range map[string]struct {
		roots *x509.CertPool
		want  string
	}{"known": {roots, ""}, "unknown": {nil, "certificate"}} {
		c, err := client.New(client.Options{URL: at.Listening, Token: secret, Roots: tt.roots})
		if err != nil {
			t.Fatal(err)
		}
		who, err := c.Owner(t.Context())
		if tt.want == "" && (err != nil || who.Name != "ann") || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
		c.Close()
	}
	if resp, err := http.Get("http://" + host + "/healthz"); err == nil {
		if resp.Body.Close(); resp.StatusCode == http.StatusOK {
			t.Error("it answers in the clear")
		}
	}
	old := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", host, old); err == nil {
		conn.Close()
		t.Error("it speaks TLS 1.1")
	}
	known := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer known.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), "GET", at.Listening+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret) // as Prometheus does
	if resp, err := known.RoundTrip(r); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	code := strings.TrimSpace(ranAs(t, 0, "serve", "token", "create", "--role", "person", "--name", "ann", "--browser", "--state", state))
	resp, err := signer(code, known).Post(at.Listening+"/api/pair", "application/json", strings.NewReader(pairs))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%d", resp.StatusCode)
	}
	end()
	if code := <-ended; code != codeDone {
		t.Errorf("it ended with %d: %s", code, log.String())
	}
}

// pairs is the body with which a browser is paired, with a key of 32 bytes.
var pairs = `{"key":"` + strings.Repeat("A", 43) + `="}`
