package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var packed = []file{{"a/LICENSE", 0o644, []byte("x")}, {"a/man/p.1", 0o644, bytes.Repeat([]byte("page "), 1000)}, {"a/program", 0o755, []byte{0, 1, 2}}}

// An archive has the same bytes whenever it is made, and what was put into it.
func TestArchives(t *testing.T) {
	at := time.Date(2026, 11, 26, 1, 2, 4, 0, time.UTC)
	for name, pack := range map[string]func([]file, time.Time) ([]byte, error){"tar.gz": tarball, "zip": zipped} {
		one, err := pack(packed, at)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("TZ", "Asia/Tokyo")
		two, err := pack(packed, at)
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s: %v, or two archives of the same files differ", name, err)
		}
		if got := unpacked(t, name, one); !slices.EqualFunc(got, packed, func(a, b file) bool {
			return a.name == b.name && a.mode == b.mode && bytes.Equal(a.data, b.data)
		}) {
			t.Errorf("%s holds %v", name, got)
		}
	}
}

// unpacked returns the files of an archive.
func unpacked(t *testing.T, kind string, data []byte) (files []file) {
	t.Helper()
	read := func(name string, mode os.FileMode, r io.Reader) {
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{name, mode, text})
	}
	if kind == "zip" {
		r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			read(f.Name, f.Mode(), in)
		}
		return files
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		read(head.Name, os.FileMode(head.Mode), r)
	}
}

// The bill names what is linked, and is the same each time. The test itself is a program.
func TestBill(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &release{version: "v1.2.3", commit: "abc", at: time.Unix(1e9, 0).UTC()}
	one, err := sbom(r, "linux/amd64", []string{self})
	if err != nil {
		t.Fatal(err)
	}
	two, err := sbom(r, "linux/amd64", []string{self})
	if err != nil || !bytes.Equal(one, two) {
		t.Error("two bills of one program differ")
	}
	var b bill
	if err := json.Unmarshal(one, &b); err != nil || b.Format != "CycloneDX" || b.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("%v: %s", err, one)
	}
	if !slices.ContainsFunc(b.Components, func(c component) bool {
		return c.Name == "std" && strings.HasPrefix(c.PURL, "pkg:golang/std@1.")
	}) {
		t.Errorf("the standard library is missing: %s", one)
	}
}

// Each program exists.
func TestPrograms(t *testing.T) {
	for _, program := range programs {
		if _, err := os.Stat("../../cmd/" + program); err != nil {
			t.Error(err)
		}
	}
}

// What sha256sum -c reads.
func TestSums(t *testing.T) {
	got := string(sums([]file{{"a.zip", 0o644, []byte("x")}}))
	if want := "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  a.zip\n"; got != want {
		t.Errorf("%q", got)
	}
}
