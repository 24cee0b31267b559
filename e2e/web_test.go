//go:build e2e

package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// web is the whole internet of a box: a proxy on 127.0.0.1 that answers for
// every host with a certificate of its own authority. A fetch leaves a mark.
type web struct {
	URL string // of the proxy
	CA  string // file of the authority's certificate

	box  *box
	key  *ecdsa.PrivateKey
	root *x509.Certificate

	mu    sync.Mutex
	hosts map[string]int // requests by host
}

func startWeb(t testing.TB, b *box) *web {
	t.Helper()
	w := &web{box: b, CA: b.Dir + "/ca.pem", hosts: map[string]int{}}
	der, err := w.certify()
	if err != nil {
		t.Fatal(err)
	}
	b.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.URL = "http://" + l.Addr().String()
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(conn)
		}
	}()
	return w
}

// certify makes the authority and gives its certificate.
func (w *web) certify() ([]byte, error) {
	var err error
	if w.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	w.root = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "e2e"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	return x509.CreateCertificate(rand.Reader, w.root, w.root, &w.key.PublicKey, w.key)
}

func (w *web) leaf(host string) (*tls.Certificate, error) {
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, w.root, &w.key.PublicKey, w.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: w.key}, err
}

// serve answers one CONNECT and the one request behind it.
func (w *web) serve(conn net.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil || req.Method != http.MethodConnect {
		return
	}
	host, _, _ := net.SplitHostPort(req.Host)
	io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	secure := tls.Server(conn, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.leaf(host) }})
	defer secure.Close()
	if _, err := http.ReadRequest(bufio.NewReader(secure)); err == nil {
		io.WriteString(secure, w.answer(host))
	}
}

func (w *web) answer(host string) string {
	w.mu.Lock()
	w.hosts[host]++
	w.mu.Unlock()
	body, kind := "page", "text/html"
	switch host {
	case "api.anthropic.com":
		body, kind = `{"can_fetch":true}`, "application/json"
	case "example.com":
		w.box.write("marks/web-fetch", "")
	}
	return "HTTP/1.1 200 OK\r\nContent-Type: " + kind + "\r\nConnection: close\r\n\r\n" + body
}

// env makes a program use this web.
func (w *web) env() []string {
	return []string{"HTTPS_PROXY=" + w.URL, "NO_PROXY=127.0.0.1,localhost", "NODE_EXTRA_CA_CERTS=" + w.CA}
}
