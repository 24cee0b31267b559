package page

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"
	"testing"
)

// The files of others are those of the npm package @xterm/xterm 6.0.0, unchanged: its
// lib/xterm.mjs, css/xterm.css and LICENSE. SHA256SUMS has their sums, in the form that
// sha256sum -c reads, and nothing lies beside them.
func TestVendoredFilesAreUnchanged(t *testing.T) {
	const dir = "static/vendor"
	sums, err := static.ReadFile(path.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"SHA256SUMS": ""}
	lines := bufio.NewScanner(bytes.NewReader(sums))
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || want[name] != "" {
			t.Fatalf("SHA256SUMS: %q", lines.Text())
		}
		want[name] = sum
	}
	found, err := fs.ReadDir(static, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		sum, known := want[f.Name()]
		delete(want, f.Name())
		data, err := static.ReadFile(path.Join(dir, f.Name()))
		if err != nil || !known {
			t.Errorf("%s is not in SHA256SUMS: %v", f.Name(), err)
			continue
		}
		if is := sha256.Sum256(data); sum != "" && hex.EncodeToString(is[:]) != sum {
			t.Errorf("%s has changed: its sum is %x", f.Name(), is)
		}
	}
	for name := range want {
		t.Errorf("%s is not there", name)
	}
	if license, err := static.ReadFile(path.Join(dir, "LICENSE-xterm")); err != nil || !bytes.Contains(license, []byte("MIT License")) && !bytes.Contains(license, []byte("Permission is hereby granted")) {
		t.Errorf("the licence of xterm.js: %v", err)
	}
}
