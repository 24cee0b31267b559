package shell

import (
	"strings"
	"testing"
)

// TestZshOnly checks that what zsh alone runs, or runs differently, is opaque in
// dialect Zsh.
func TestZshOnly(t *testing.T) {
	for _, line := range []string{
		"ls =(touch p)", "ls *(e:'touch p':)", "ls *(oe:'touch p':)", "ls *(+f)", "ls *(.)", "=touch p", "x==touch; $x p",
		"repeat 2 touch p", "for x (a b) touch $x", "for x y in a b; do touch $x; done", "foreach x (a b)\ntouch p\nend",
		"if [[ a ]] { touch p }", "while touch p { break }", "case x { (x) touch p }", "select x (a) { touch p }",
		"alias -g G='; touch p'\nls G", "alias -s txt='touch p'\na.txt", "echo ${(e)x}", "echo ${(P)x}", "echo ${(f)x}", "echo ${(%)x}",
		"echo ~[touch]", "ls ~x:y~z", "nocorrect touch p", "noglob touch p", "- touch p", "exec - touch p", "builtin - touch p",
		"coproc touch p", "{ ls } always { touch p }", "() { touch p }", "function { touch p }", "function f g { touch p }; g",
		"ls &! touch p", "ls &| touch p", "ls &!touch p", "ls >!f", "ls >>!f", "ls >|!f", "<f", ">f", "x=1 <f", "ls 10>f", "ls 6&>f",
		"ls <1-9>", "ls <1-9>x", "ls **/*", "ls ^a", "ls a~b", "ls a#", "ls (a|b)", "ls {a,}", "ls {a..c}", "{touch,p}",
		"echo $xé", "echo \"${y}$xé\"", "echo $x[1]", "echo \"$x[1,2]\"", "echo $x:h", "echo \"$x:h\"", "echo $=x", "echo $~x", "echo $^x", "echo $+x", "echo $#x", "echo $10", "f $#$#", "f \"$#$(g)\"", "f $#$((1))", "f $#${x}",
		"echo ${=x}", "echo ${~x}", "echo ${x:h}", "echo ${x[1]}", "echo ${x:1}", "echo ${x/a/b}", "echo ${x#a}", "echo ${${x}#a}", "echo $IFS",
		"setopt shwordsplit; ls", "unsetopt nomatch", "set -y", "set -o shwordsplit", "emulate sh", "emulate zsh -c 'touch p'",
		"autoload f", "zmodload zsh/system", "sched +1 touch p", "zpty x touch p", "zle -N x", "bindkey -s a b", "print -P x", "vared x",
		"hash ls=/x", "disable echo", "functions f", "typeset -T A a", "integer x=y", "fc -e - 1", "r", "cd a b", "time -p touch p",
		"a=(b c)", "x+=b", "a[1]=b", "0=touch p", "echo $'\\x41'", "read -e x", "command -x touch p", "case a in a) ls;;& esac", "touch\\",
		"eval 'repeat 2 touch p'", "trap '=touch p' EXIT", "trap '- touch p' DEBUG",
	} {
		if f := Analyze(line, Options{Dir: "/w", Home: "/home/dev", Dialect: Zsh}); !hasOpaque(f, MayRun) {
			t.Errorf("%q: no opaque spot\n%s", line, dump(f))
		}
	}
	if f := Analyze("zsh -c 'repeat 2 touch p'", Options{Dir: "/w"}); !hasOpaque(f, MayRun) {
		t.Error("zsh -c is not read as zsh")
	}
}

// TestShOnly checks that what bash alone understands is opaque in dialect Sh.
func TestShOnly(t *testing.T) {
	for _, line := range []string{
		"[[ -f x ]] && touch p", "cat <(touch p)", "ls &> x", "ls |& touch p", "function f { touch p; }", "echo $'\\x41'", "touch {a,b}",
		"((1))", "for ((i=0;i<1;i++)); do touch p; done", "select x in a; do touch p; done", "a=(b c)", "set -i", "x+=touch", "a[0]=b", "let x=1",
		"cat <<<x", "ls {fd}>f", "ls 12>f", "time ls", "time", "eval -- ls", "exec -a x ls", "echo $[1]", "declare x=1", "typeset x=1",
		"coproc ls", "ls &>>f", "bash_only=(1) ls",
	} {
		if f := Analyze(line, Options{Dir: "/w", Home: "/home/dev", Dialect: Sh}); !hasOpaque(f, MayRun) {
			t.Errorf("%q: no opaque spot\n%s", line, dump(f))
		}
	}
	if f := Analyze("sh -c 'x+=touch p'", Options{Dir: "/w"}); !hasOpaque(f, MayRun) {
		t.Error("sh -c is not read as sh")
	}
}

// TestDialectsShare checks that what all shells read alike is clear in each dialect.
func TestDialectsShare(t *testing.T) {
	for _, line := range []string{
		"ls -la && echo done", "git status | head -5", "cd a && npm test", "x=1; echo \"$x\"", "for f in a b; do cat \"$f\"; done",
		"if test -f a; then cat a; fi", "case $x in a) ls;; *) pwd;; esac", "ls *.go 2>/dev/null", "echo \"${x}\"", "echo \"${x:-y}\"", "echo $((1+2))",
		"cat <<'E'\n$x {a} =b\nE", "git log HEAD~1 -- a@b", "git show HEAD^", "set -e; ls", "f() { ls; }; f", "echo 'a=b{c}'", "A=1 ls", "npm run a:b",
		"! ls", "(ls; pwd) > f", "while read -r x; do ls; done < f", "curl -s https://h/x?y=z", "find . -name '*.go' -exec grep -l x '{}' ';'",
	} {
		for _, d := range []Dialect{Bash, Sh, Zsh} {
			if d == Zsh && strings.HasPrefix(line, "while") {
				continue // read is another builtin there
			}
			if f := Analyze(line, Options{Dir: "/w", Home: "/home/dev", Dialect: d}); hasOpaque(f, MayRun) {
				t.Errorf("dialect %d, %q: an opaque spot\n%s", d, line, dump(f))
			}
		}
	}
	for _, line := range []string{"[[ -f x ]] && ls", "time ls", "cat <(ls)", "ls |& cat", "ls &>f"} {
		if f := Analyze(line, Options{Dir: "/w", Home: "/home/dev", Dialect: Zsh}); hasOpaque(f, MayRun) {
			t.Errorf("zsh, %q: an opaque spot\n%s", line, dump(f))
		}
	}
}

// TestForeignIsOpaque checks that lines for PowerShell and cmd are not analyzed.
func TestForeignIsOpaque(t *testing.T) {
	for _, line := range []string{"Get-ChildItem", "dir & del x", "ls", "", "Remove-Item -Recurse x", "echo 1"} {
		f := Analyze(line, Options{Dialect: Foreign})
		if f.Failed == nil || len(f.Actions) != 1 || f.Actions[0].Kind != Opaque || f.Actions[0].May&MayRun == 0 {
			t.Errorf("%q is read: %s", line, dump(f))
		}
	}
}
