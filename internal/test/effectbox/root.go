//go:build linux

package effectbox

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// setup is the first request to the box.
type setup struct {
	Config
	Logger string // path of the logger outside the box
}

// nobody is the user that runs lines: an unprivileged user of the box alone, so
// that its limits do not count the processes of others.
const nobody = 64999

// build builds the root.
func build(root string, s *setup) (real []string, err error) {
	if !filepath.IsAbs(root) {
		return nil, fmt.Errorf("the root %q is not absolute", root)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("private mounts: %w", err)
	}
	if err := syscall.Mount("box", root, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size=128m,mode=755"); err != nil {
		return nil, fmt.Errorf("mount: %w", err)
	}
	for _, d := range []string{"usr/bin", "usr/lib", "usr/lib64", "usr/libexec", "usr/share", "usr/local/bin", "usr/local/share", "real/bin", "real/name", "proc", "dev", "log", "srv", "run"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			return nil, err
		}
	}
	for _, d := range []string{"usr/lib", "usr/lib64", "usr/libexec", "usr/share"} {
		if err := bind("/"+d, filepath.Join(root, d)); err != nil {
			return nil, err
		}
	}
	for _, d := range s.programDirs() {
		if err := bind("/usr/bin", filepath.Join(root, d)); err != nil {
			return nil, err
		}
	}
	for link, to := range map[string]string{"bin": "usr/bin", "sbin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			return nil, err
		}
	}
	if err := devices(root); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(root, "log/trace"), nil, 0o666); err != nil {
		return nil, err
	}
	if err := os.Chmod(filepath.Join(root, "log/trace"), 0o666); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(root, "log/bare"), []byte(bare), 0o644); err != nil {
		return nil, err
	}
	if s.Agent {
		return nil, errors.Join(scripts(root, s.Scripts), setuid(filepath.Join(root, "opt"), s.Setuid), s.archive(filepath.Join(root, pristine)), connect())
	}
	return programs(root, s)
}

// programDirs returns where the programs of the machine are in the root.
func (s *setup) programDirs() []string {
	if s.Agent {
		return []string{"real/bin", "usr/bin"}
	}
	return []string{"real/bin"}
}

// scripts installs programs of the box's own.
func scripts(root string, texts map[string]string) error {
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(root, "usr/local/bin", name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// setuid installs programs that act as root.
func setuid(dir string, names []string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("setuid", dir, "tmpfs", syscall.MS_NODEV, "size=8m,mode=755"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	for _, name := range names {
		to := filepath.Join(dir, name)
		if err := copyFile("/usr/bin/"+name, to); err != nil {
			return err
		}
		if err := os.Chmod(to, 0o755|os.ModeSetuid); err != nil {
			return err
		}
	}
	return nil
}

// archive writes the files of Keep, with their directories.
func (s *setup) archive(to string) error {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range s.Tree {
		name, ok := strings.CutPrefix(f.Path, s.Dir+"/")
		if !ok || !slices.ContainsFunc(s.Keep, func(kept string) bool { return kept == name || strings.HasPrefix(kept, name+"/") }) {
			continue
		}
		head := &tar.Header{Name: name, Mode: int64(cmp.Or(f.Mode, 0o644)), ModTime: old}
		if f.Kind == Dir {
			head.Typeflag, head.Mode = tar.TypeDir, 0o755
		} else {
			head.Size = int64(len(f.Data))
		}
		if err := w.WriteHeader(head); err != nil {
			return err
		}
		if f.Kind != Dir {
			if _, err := w.Write(f.Data); err != nil {
				return err
			}
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, out.Bytes(), 0o644)
}

// bare disables the builtins that exist as programs.
const bare = "enable -n echo printf test [ pwd true false kill\n"

// bind mounts a directory of the machine in the root, read-only.
func bind(from, to string) error {
	if _, err := os.Stat(from); os.IsNotExist(err) {
		return nil
	}
	if err := syscall.Mount(from, to, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s: %w", from, err)
	}
	flags := syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV
	if err := syscall.Mount("", to, "", uintptr(flags), ""); err != nil {
		return fmt.Errorf("make %s read-only: %w", from, err)
	}
	return nil
}

// devices makes a /dev with nodes of its own: those of the machine would be changed for
// everybody.
func devices(root string) error {
	dir := filepath.Join(root, "dev")
	if err := syscall.Mount("dev", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NOEXEC, "size=1m,mode=755"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		var at syscall.Stat_t
		if err := syscall.Stat("/dev/"+name, &at); err != nil {
			return fmt.Errorf("/dev/%s: %w", name, err)
		}
		node := filepath.Join(dir, name)
		if err := syscall.Mknod(node, syscall.S_IFCHR, int(at.Rdev)); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
		if err := os.Chmod(node, 0o666); err != nil {
			return err
		}
	}
	for link, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(to, filepath.Join(root, "dev", link)); err != nil {
			return err
		}
	}
	if err := syscall.Mount("proc", filepath.Join(root, "proc"), "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// programs installs the logger under every name, and the real programs where it
// finds them.
func programs(root string, s *setup) (real []string, err error) {
	logger := filepath.Join(root, "log/logger")
	if err := copyFile(s.Logger, logger); err != nil {
		return nil, err
	}
	names := append([]string{"run"}, s.Stubs...)
	for _, name := range s.Real {
		at, ok := onMachine(name)
		if !ok {
			continue
		}
		if err := os.Symlink(at, filepath.Join(root, "real/name", name)); err != nil {
			return nil, err
		}
		real, names = append(real, name), append(names, name)
	}
	for _, name := range names {
		if err := os.Link(logger, filepath.Join(root, "usr/bin", name)); err != nil && !os.IsExist(err) {
			return nil, err
		}
	}
	return real, nil
}

// onMachine finds the path of a program on the machine.
func onMachine(name string) (string, bool) {
	at, err := exec.LookPath(name)
	if err != nil {
		return "", false
	}
	if at, err = filepath.EvalSymlinks(at); err != nil {
		return "", false
	}
	at = strings.TrimPrefix(at, "/usr")
	return "/real" + at, strings.HasPrefix(at, "/bin/")
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
