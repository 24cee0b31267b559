package risk

import (
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

var testPlace = Place{Home: testHome, Workspace: testWorkspace}

// Many spellings of what no rule may allow.
func TestCatastrophic(t *testing.T) {
	for _, line := range []string{
		// the root
		"rm -rf /", "rm -fr /", "rm -r /", "rm -R /", "rm --recursive /", "rm --rec /", "rm -rf -- /", "rm / -rf", "rm -rf //",
		"rm -rf /.", "rm -rf /..", "rm -rf /tmp/..", "rm -rf /home/../", "rm -rf '/'", "rm -rf \"/\"", "\\rm -rf /", "/bin/rm -rf /",
		"rm -rf /*", "rm -rf /.*", "rm -rf /*/", "rm -rf /*/*", "rm -rf x /", "rm -rf --no-preserve-root /", "rm --no-preserve-root /", "rm $opts /",
		"rm -rf /proc/self/root", "rm -rf /proc/1/root/etc", "rm -rf {/,x}", "FOO=1 rm -rf /", "srm -r /",
		// homes
		"rm -rf ~", "rm -rf ~/", "rm -rf $HOME", "rm -rf ${HOME}", "rm -rf \"$HOME\"", "rm -rf \"$HOME/\"", "rm -rf ~/*",
		"rm -rf $HOME/*", "rm -rf \"$HOME\"/*", "rm -rf /home/dev", "rm -rf /home/other", "rm -rf /home/*", "rm -rf /root", "rm -rf /Users/me",
		"rm -rf ~/proj/..",
		// here
		"rm -rf .", "rm -rf ./", "rm -rf ..", "rm -rf ../", "rm -rf ../..", "rm -rf *", "rm -rf ./*", "rm -rf ./.*", "rm -rf .*", "rm -rf .[!.]*", "rm -rf .??*",
		"rm -rf ../*", "rm -rf $PWD", "rm -rf \"$PWD\"", "rm -rf \"$PWD\"/*", "rm -rf $(pwd)", "rm -rf /home/dev/proj", "rm -rf /home/dev/proj/*",
		// the system
		"rm -rf /etc", "rm -rf /etc/", "rm -rf /usr", "rm -rf /bin", "rm -rf /boot", "rm -rf /home", "rm -rf /var", "rm -rf /var/lib",
		"rm -rf /usr/bin", "rm -rf /etc/*", "rm -rf /e*", "rm -rf /?tc", "rm -rf /[a-z]*", "rm -rf /usr/*", "rm -rf /lib*", "rm -rf /tmp/../etc",
		"rm -rf /tmp/x /usr /tmp/y",
		// the tracked directory
		"cd / && rm -rf *", "cd / && rm -rf ./*", "cd / && rm -rf .", "cd / ; rm -rf *", "cd /etc && rm -rf *", "cd ~ && rm -rf *",
		"cd /home/dev/proj/sub && rm -rf ../../*", "cd .. && rm -rf proj", "cd /; cd usr; rm -rf lib", "cd /var && rm -rf lib", "(cd / && rm -rf *)",
		// by way of something else
		"sudo rm -rf /", "env rm -rf /", "nohup rm -rf / &", "timeout 5 rm -rf ~", "bash -c 'rm -rf /'", "sh -c \"rm -rf ~\"",
		"sudo -u root bash -c 'cd / && rm -rf *'", "eval 'rm -rf /'", "echo $(rm -rf /)", "cat <(rm -rf /)", "ls | rm -rf /",
		"if false; then rm -rf /; fi", "f() { rm -rf /; }; f", "busybox rm -rf /", "X=rm; $X -rf /", "d=/; rm -rf $d", "ls & rm -rf /", "ls\nrm -rf /", "true || rm -rf /",
		// find
		"find / -delete", "find / -type f -delete", "find /etc /tmp -delete", "find ~ -delete", "find $HOME -delete", "find / -name '*' -delete",
		"find / ! -name x -delete", "find / -name x -o -delete", "find / -exec rm -rf {} +", "find / -xdev -exec rm -r {} \\;", "cd / && find . -delete",
		"find -L / -delete", "find -O3 / -delete", "cd / && find -delete", "find / -exec sudo rm -rf {} +",
		// disks
		"mkfs", "mkfs.ext4 /dev/sdb1", "mkfs.ext4 -L -n /dev/sda1", "mkfs.fat -n X /dev/sda1", "mkfs.ext4 -- -n", "mkfs -t ext4 disk.img", "sudo mkfs.xfs /dev/nvme0n1", "/sbin/mke2fs /dev/sda1", "dd if=/dev/zero of=/dev/sda", "dd of=/dev/nvme0n1 < x",
		"sudo dd if=x of=/dev/vda bs=4M", "dd of=/dev/mapper/root if=x", "dd if=x of=/dev/disk/by-id/ata-x", "cat x > /dev/sda", "cat x >> /dev/sda1", "echo x >| /dev/vda",
		"tee /dev/sda < x", "sudo tee /dev/sda", "cp x /dev/sda", "sort -o /dev/sda x", "curl -o /dev/sda http://a.example", "cat x | tee /dev/sd*", "shred /dev/sda", "wipefs -a /dev/sda", "blkdiscard /dev/nvme0n1",
		"cd /dev && cat x > sda", "mkswap /dev/sda2", "echo x > /dev/../dev/sda",
		// the fork bomb
		":(){ :|:& };:", ":(){:|:&};:", ": ( ) { : | : & } ; :", "b(){ b|b& };b", "bomb() { bomb | bomb & }; bomb", "x(){ x|x& }", "f() { g; }; :(){:|:&};:", "f() ( f | f & ); f",
	} {
		if reason, found := Catastrophic(analyze(line), testPlace); !found || reason == "" {
			t.Errorf("%q is not catastrophic (%q, %v)", line, reason, found)
		}
	}
}

// What looks similar, or is not proven.
func TestNotCatastrophic(t *testing.T) {
	for _, line := range []string{
		"", "ls /", "rm x", "rm -rf build", "rm -rf ./build", "rm -rf node_modules", "rm -rf ./node_modules/", "rm -rf ../other", "rm -rf a b c",
		"rm -rf build/*", "rm -rf ./build/*", "rm -rf *.o", "rm -rf ./*.log", "rm -rf .cache", "rm -rf .??x", "rm -rf ?", "rm -rf [0-9]*", "rm -rf ./build-?", "rm -rf ~/.cache/x", "rm -rf ~/tmp/*",
		"rm -rf $HOME/.cache", "rm -rf \"$HOME/build\"", "rm -rf /tmp/x", "rm -rf /tmp", "rm -rf /tmp/*", "rm -rf /var/tmp/x", "rm -rf /usr/local/bin/x",
		"rm -rf /home/dev/proj/build", "rm -rf /home/dev/other", "rm -rf /foo*", "rm -rf /opt/x",
		"cd build && rm -rf *", "cd build && rm -rf ./*", "cd /tmp/x && rm -rf *", "cd a/b && rm -rf ../*",
		// known only at run time
		"rm -rf $x", "rm -rf \"$x\"", "rm -rf /$x", "rm -rf \"/$x\"", "rm -rf $x/", "rm -rf $x/*", "rm -rf \"${x:-/tmp}\"/y", "rm -rf '$HOME'", "rm -rf \"~\"",
		"rm -rf $(mktemp -d)", "cd $x && rm -rf *", "cd $x && rm -rf \"$PWD\"", "rm $x build",
		// not recursive, not a removal
		"rm /", "rm -f /etc", "rm *", "rmdir /", "echo rm -rf /", "echo 'rm -rf /'", "grep 'rm -rf /' f", "git commit -m 'rm -rf /'", "# rm -rf /", "ls # rm -rf /",
		"cat <<'EOF'\nrm -rf /\nEOF", "rm -- -rf", "man mkfs", "mkfs --help", "mkfs.ext4 -n /dev/sda1", "mke2fs -Fn disk.img", "which mkfs.ext4", "mkfs.ext4 --version", "echo ':(){ :|:& };:'",
		"find . -delete", "find $x -delete", "find / -name '*.tmp' -delete", "find build -delete", "find / -name x", "find . -name x -exec rm -rf {} +", "find / -newer x -delete", "find /tmp -delete",
		// block devices that are only read or named
		"dd if=/dev/sda of=disk.img", "cat /dev/sda > x", "ls /dev/sda", "chmod 600 /dev/sda", "touch /dev/sda", "echo x > /dev/null", "echo x > /dev/tty",
		"echo x > /dev/stderr", "wipefs /dev/sda", "cp /dev/sda x", "cat x > /tmp/dev/sda", "cat x > dev/sda", "cat x > $dev", "dd of=$x",
		// functions that call themselves in another way
		"f() { f; }", "f() { g | g & }; f", "f(){ g; }; h(){", "f() { echo f & }; f",
	} {
		if reason, found := Catastrophic(analyze(line), testPlace); found {
			t.Errorf("%q: %s", line, reason)
		}
	}
}

// Without a home, workspace and directory, literal paths still count.
func TestCatastrophicWithoutPlace(t *testing.T) {
	for line, want := range map[string]bool{
		"rm -rf /": true, "rm -rf ~": true, "rm -rf $HOME": true, "rm -rf ~/*": true, "rm -rf *": true, "rm -rf .": true, "rm -rf ./*": true,
		"rm -rf ..": true, "cd / && rm -rf *": true, "rm -rf build": false, "rm -rf ~/x": false, "cd x && rm -rf *": false,
		"find ~ -delete": true, "rm -rf $x": false,
	} {
		f := shell.Analyze(line, shell.Options{})
		if reason, found := Catastrophic(f, Place{}); found != want {
			t.Errorf("%q: %v (%s), want %v", line, found, reason, want)
		}
	}
}
