//go:build oracle && linux

package effects

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/effectbox"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// The directories of the box.
const (
	home    = "/home/dev"
	work    = "/home/dev/w"
	outside = "/outside"
)

var place = patterns.Place{Workspace: work, Home: home}

// realPrograms lists programs that are harmless in the box. All other names are
// stubs.
var realPrograms = strings.Fields(`
	awk gawk mawk base64 basename bash bc bzip2 cal cat chmod cksum cmp column comm cp cpio csplit cut
	dash date dd df diff diff3 dirname du echo ed egrep env expand expr factor false fdfind fgrep file
	find flock fmt fold git grep gunzip gzip head hexdump hostname iconv id install ionice join jq
	less link ln look ls lz4 md5sum mkdir mkfifo mktemp mv nice nl nohup numfmt od paste patch pr
	printf ptx pwd readlink realpath rev rg rm rmdir rsync sdiff sed seq setsid sh sha256sum shuf sleep
	sort split sqlite3 stat stdbuf strings tac tail tar tee test timeout touch tr tree true truncate
	tsort tty uname unexpand uniq unlink unzip wc which xargs xxd xz zcat zgrep zip zstd`)

// stubs lists names that lines use or that programs would start.
var stubs = strings.Fields(`
	c1 c2 c3 c9 busybox curl docker editor gh go gpg kubectl lz4cat make more node npm pager perl pip
	python python3 scp ssh sudo time vi vim watch wget zsh`)

// fewestReal is the minimum number of programs that must be real.
const fewestReal = 60

// world returns the tree in which each line starts: names that look like
// options, links that lead outside, archives and a repository.
func world(t *testing.T) []effectbox.File {
	t.Helper()
	dir := func(name string) effectbox.File { return effectbox.File{Path: name, Kind: effectbox.Dir} }
	file := func(name, data string) effectbox.File {
		return effectbox.File{Path: name, Data: []byte(data)}
	}
	link := func(name, to string) effectbox.File {
		return effectbox.File{Path: name, Kind: effectbox.Link, Data: []byte(to)}
	}
	tree := []effectbox.File{
		dir("/home"), dir(home), dir(work), dir(outside), dir(outside + "/d"), dir("/tmp"), dir("/etc"),
		file("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"),
		file("/etc/x", "etc\n"), file("/tmp/y", "tmp\n"),
		file(outside+"/f", "outside\n"), file(outside+"/d/g", "outside g\n"),
		file(home+"/.bashrc", "c9 from-bashrc\n"), file(home+"/h.txt", "home\n"),
		file(home+"/.gitconfig", "[user]\n\tname = dev\n\temail = dev@example.com\n"),
		dir(work + "/sub"), dir(work + "/sub/deep"), dir(work + "/out"), dir(work + "/-exec"), dir(work + "/empty"),
		file(work+"/a.txt", "b\na\nc9 x\nrm\n-o\n/outside/f\n"), file(work+"/b.txt", "a\nb\n3\n"),
		file(work+"/c.md", "# c\n"), file(work+"/a b", "blank\n"), file(work+"/x", "c9 from-x\n"),
		file(work+"/rm", "x\n"), file(work+"/-o", "dash o\n"), file(work+"/-rf", "dash rf\n"),
		file(work+"/-delete", ""), file(work+"/--output=x", "trap\n"), file(work+"/-i", "s/a/w evil/\n"),
		file(work+"/$(c9)", ""), file(work+"/--checkpoint-action=exec=sh x", ""), file(work+"/--checkpoint=1", ""),
		file(work+"/-exec/f", "f\n"), file(work+"/sub/d.txt", "d\nd\n"), file(work+"/sub/-f", "x\n"),
		file(work+"/sub/deep/e.txt", "e\n"), file(work+"/out/old.log", "old\n"),
		file(work+"/list", "a.txt\n-rf\n/outside/f\nsub\n--output=x\n"), file(work+"/n.json", "{\"a\":[1,2],\"b\":\"c9 x\"}\n"),
		file(work+"/prog.awk", "{ system(\"c9 from-prog\") }\n"), file(work+"/script.sed", "s/a/b/w made-by-sed\n"),
		{Path: work + "/tool", Data: []byte("#!/usr/bin/run\n"), Mode: 0o755},
		file(work+"/e.patch", "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n b\n-a\n+A\n"),
		file(work+"/up.patch", "--- ../h.txt\n+++ ../h.txt\n@@ -1 +1 @@\n-home\n+HOME\n"),
		file(work+"/.env", "SECRET=1\n"),
		link(work+"/lnk.txt", outside+"/f"), link(work+"/ld", outside), link(work+"/in", "sub"),
		link(work+"/up", ".."), link(work+"/gone", outside+"/none"), link(work+"/sub/l", "../a.txt"),
		{Path: work + "/arch.tar", Data: tarball(t, false)}, {Path: work + "/arch.tar.gz", Data: tarball(t, true)},
		{Path: work + "/arch.zip", Data: zipped(t)}, {Path: work + "/t.gz", Data: gzipped([]byte("t\n"))},
	}
	return append(tree, repository(t)...)
}

// members lists the contents of the archives.
var members = []string{"in.txt", "-o", "sub/d.txt", "../up.txt", "/tmp/abs", "ld/through"}

func tarball(t *testing.T, gz bool) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m, Mode: 0o644, Size: 2}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte("m\n"))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if gz {
		return gzipped(out.Bytes())
	}
	return out.Bytes()
}

func gzipped(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(data)
	w.Close()
	return out.Bytes()
}

func zipped(t *testing.T) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, m := range members {
		f, err := w.Create(m)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte("m\n"))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// repository returns a .git with two commits of a.txt and sub/d.txt.
func repository(t *testing.T) []effectbox.File {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE=@1500000000 +0000", "GIT_COMMITTER_DATE=@1500000000 +0000",
			"GIT_AUTHOR_NAME=d", "GIT_AUTHOR_EMAIL=d@example.com", "GIT_COMMITTER_NAME=d", "GIT_COMMITTER_EMAIL=d@example.com",
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put := func(name, data string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q", "-b", "main", "--template=", ".")
	put("a.txt", "b\na\n")
	put("sub/d.txt", "d\n")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	put("a.txt", "b\na\nc9 x\nrm\n-o\n/outside/f\n")
	git("commit", "-q", "-a", "-m", "two")
	git("branch", "side", "HEAD~1")
	return below(t, filepath.Join(dir, ".git"), work+"/.git")
}

// below returns the files of a directory of the machine, for the tree.
func below(t *testing.T, from, to string) (out []effectbox.File) {
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f := effectbox.File{Path: to + strings.TrimPrefix(name, from)}
		if d.IsDir() {
			f.Kind = effectbox.Dir
		} else if f.Data, err = os.ReadFile(name); err != nil {
			return err
		}
		out = append(out, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// links returns the links of the box and their targets.
func links(tree []effectbox.File) map[string]string {
	out := map[string]string{"/bin": "usr/bin", "/sbin": "usr/bin", "/lib": "usr/lib", "/lib64": "usr/lib64"}
	for _, f := range tree {
		if f.Kind == effectbox.Link {
			out[f.Path] = string(f.Data)
		}
	}
	return out
}

// env returns the file system of the box for the evaluator.
func env(tree []effectbox.File) workspace.Fake {
	return workspace.Fake{Symlinks: links(tree), Dir: work}
}
