//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/netns"
)

// The test binary starts itself anew in a network namespace with only
// loopback: stage "" clones, stage "net" brings loopback up, makes an /etc of
// our own, gives up its capabilities and executes stage "run", which runs the
// tests.
const stageVar = "AW_E2E_STAGE"

// noNamespace says why there is no namespace, "" if we are in one.
var noNamespace string

// enterNamespace returns only in stage run, or when no namespace can be had.
func enterNamespace() {
	switch os.Getenv(stageVar) {
	case "run":
		os.Unsetenv(stageVar)
		noNamespace = os.Getenv("AW_E2E_NO_NAMESPACE")
		return
	case "net":
		if err := netns.Up(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: bring up loopback:", err)
			os.Exit(netns.Unready)
		}
		if err := ownEtc(os.Getenv(etcVar)); err != nil {
			os.Setenv(etcVar, "")
		}
		os.Setenv(stageVar, "run")
		fatal(netns.Exec(os.Args[1:]))
	}
	os.Setenv(stageVar, "net")
	if dir, err := os.MkdirTemp("", "e2e-etc"); err == nil {
		os.Setenv(etcVar, dir)
		defer os.RemoveAll(dir) // where os.Exit does not come first
	}
	code, err := netns.Run(context.Background(), syscall.CLONE_NEWNS, []uintptr{capSysAdmin}, os.Args[1:])
	if err == nil {
		os.RemoveAll(os.Getenv(etcVar))
		os.Exit(code)
	}
	os.Unsetenv(stageVar)
	noNamespace = fmt.Sprintf("no network namespace can be made here (%v): run it as root, or allow unprivileged user namespaces", err)
}

const capSysAdmin = 21

// etcVar names the folder in which our own /etc is made, "" if there is none.
const etcVar = "AW_E2E_ETC"

// ownEtc puts a folder of links over /etc in our mount namespace, so that a
// test can lay managed settings there and the machine sees nothing of it. Those
// of the machine are left out.
func ownEtc(dir string) error {
	old, fresh := dir+"/old", dir+"/new"
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(old, 0o755), os.Mkdir(fresh, 0o755)); err != nil {
		return err
	}
	if err := syscall.Mount("/etc", old, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", fresh, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	entries, err := os.ReadDir(old)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == filepath.Base(managedDir) {
			continue
		}
		if err := os.Symlink(old+"/"+e.Name(), fresh+"/"+e.Name()); err != nil {
			return err
		}
	}
	return syscall.Mount(fresh, "/etc", "", syscall.MS_BIND, "")
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	os.Exit(1)
}

// unable skips a test that cannot run here; with CI=true it fails it.
func unable(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
