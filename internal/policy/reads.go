package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// public lists what everybody may read, in the form of Read rules: what the
// system's packages and the caches of package managers hold, and what the kernel
// tells about the machine. What lies there is the same on every machine, or
// nobody's secret.
var public = strings.Fields(`
	//usr/bin/** //usr/sbin/** //usr/include/** //usr/lib/** //usr/lib32/** //usr/lib64/** //usr/libexec/** //usr/share/** //usr/src/**
	//usr/local/bin/** //usr/local/sbin/** //usr/local/include/** //usr/local/lib/** //usr/local/share/** //usr/local/go/** //usr/local/Cellar/**
	//bin/** //sbin/** //lib/** //lib32/** //lib64/** //nix/store/** //opt/homebrew/Cellar/** //opt/homebrew/bin/** //opt/homebrew/include/** //opt/homebrew/lib/** //opt/homebrew/share/**
	//Library/Developer/** //Applications/Xcode.app/**
	//etc/os-release //etc/lsb-release //etc/debian_version //etc/redhat-release //etc/alpine-release //etc/issue //etc/hostname //etc/hosts
	//etc/resolv.conf //etc/nsswitch.conf //etc/protocols //etc/services //etc/shells //etc/timezone //etc/localtime //etc/ld.so.conf //etc/ld.so.conf.d/**
	//etc/mime.types //etc/apt/sources.list //etc/apt/sources.list.d/** //etc/ssl/certs/** //etc/alternatives/** //etc/machine-info
	//proc/cpuinfo //proc/meminfo //proc/version //proc/loadavg //proc/uptime //proc/stat //proc/filesystems //proc/mounts //proc/sys/** //proc/self/status //proc/self/cgroup //proc/self/mountinfo
	//proc/net/tcp //proc/net/tcp6 //proc/net/dev //proc/diskstats //proc/partitions //proc/swaps //proc/vmstat
	//sys/fs/cgroup/** //sys/devices/system/** //sys/class/net/** //sys/class/thermal/** //sys/class/power_supply/** //sys/kernel/mm/**
	//dev/null //dev/zero //dev/full //dev/random //dev/urandom //dev/stdin //dev/stdout //dev/stderr //dev/tty //dev/fd/*
	~/go/pkg/mod/** ~/.cache/go-build/** ~/sdk/go*/**
	~/.cargo/registry/** ~/.cargo/git/checkouts/** ~/.rustup/toolchains/**
	~/.nvm/versions/** ~/.volta/tools/** ~/.cache/node/** ~/.cache/pnpm/** ~/.local/share/pnpm/store/** ~/.cache/ms-playwright/** ~/.deno/** ~/.bun/install/cache/**
	~/.pyenv/versions/** ~/.cache/pip/** ~/.cache/uv/** ~/.local/share/uv/python/** ~/.local/share/uv/tools/** ~/.local/lib/python*/** ~/.local/pipx/venvs/** ~/.local/share/pipx/venvs/**
	~/.rbenv/versions/** ~/.gem/ruby/** ~/.m2/repository/** ~/.gradle/caches/** ~/.sdkman/candidates/** ~/.nuget/packages/** ~/.pub-cache/** ~/.cache/pre-commit/** ~/.asdf/installs/** ~/.local/share/mise/installs/**
`)

// publicRules returns the table as rules.
var publicRules = sync.OnceValue(func() []*patterns.Rule {
	var rules []*patterns.Rule
	for _, pattern := range public {
		rule, _, err := patterns.Parse("Read("+pattern+")", patterns.Allow, patterns.Source{Name: "built in"})
		if err == nil { // TestPublic parses each
			rules = append(rules, rule)
		}
	}
	return rules
})

// publicReads returns the rules for what everybody may read: the table, and the
// patterns of the policy. Few tool uses need them, and a policy is compiled
// often, so they are bound to the place only when they are asked for.
func (c *compiler) publicReads() func() *patterns.Set {
	var items []Item
	for _, item := range c.spec.Reads {
		if strings.Trim(item.Text, "*/ \t") == "" {
			c.fail(at(item.Source, fmt.Errorf("reads.public %q is not a place: write a directory (~/notes/**) or a file", item.Text)))
			continue
		}
		items = append(items, Item{Text: "Read(" + item.Text + ")", Source: item.Source})
	}
	place, own := c.place, c.list(items, patterns.Allow)
	return sync.OnceValue(func() *patterns.Set { return patterns.NewSet(place, slices.Concat(publicRules(), own)...) })
}
