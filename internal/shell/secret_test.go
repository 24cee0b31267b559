package shell

import (
	"fmt"
	"slices"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// leaks reports whether a line is found to show the value of a secret.
func leaks(line string, d Dialect) bool {
	facts := Analyze(line, Options{Dir: "/p", Home: "/h", Dialect: d})
	return slices.ContainsFunc(facts.Actions, func(a Action) bool {
		return a.Kind == Command && (a.Environment || a.Why.Cause == causeSecretShown) || a.Kind == Opaque
	})
}

// TestSecretWords checks that the value of a variable that may hold a secret is shown
// wherever a command or the shell may print it, and not where only its presence counts.
func TestSecretWords(t *testing.T) {
	for _, line := range []string{
		`ls "$NPM_TOKEN"`, `seq -f "$NPM_TOKEN%g" 1`, `type "$NPM_TOKEN"`, `jq -n --arg x "$NPM_TOKEN" '$x'`, `stat -c "$NPM_TOKEN" a`, `awk -v x="$NPM_TOKEN" 'BEGIN { print x }'`,
		`echo "${NPM_TOKEN:0:4}"`, `echo "${NPM_TOKEN%x}"`, `echo "${NPM_TOKEN/a/b}"`, `echo "${HOME:+$NPM_TOKEN}"`, `echo "${x:-$NPM_TOKEN}"`, `echo "${x/a/$NPM_TOKEN}"`,
		`: "${x?$NPM_TOKEN}"`, `: "${x:?no $NPM_TOKEN}"`, `y=${x?$NPM_TOKEN}`, `echo $PGPASS`,
		`arr=($NPM_TOKEN); echo ${arr[0]}`, `arr+=("$NPM_TOKEN"); ls "${arr[@]}"`, `x=$NPM_TOKEN; ls "$x"`, `x=$NPM_TOKEN; y=a$x; ls $y`, `x=$NPM_TOKEN; ls $x; read x`, `x+=$NPM_TOKEN; ls $x`,
		`for x in $NPM_TOKEN; do ls $x; done`, `select x in $NPM_TOKEN; do :; done`, `export "x=$NPM_TOKEN"; ls $x`, `command export x=$NPM_TOKEN; ls $x`, `declare -a x=($NPM_TOKEN); ls ${x[0]}`,
		`x=$NPM_TOKEN bash -c 'ls $x'`, `env x="$NPM_TOKEN" sh -c 'ls $x'`, `export x=$NPM_TOKEN; sh -c 'ls "$x"'`, `f() { ls "$1"; }; f "$NPM_TOKEN"`, `set -- $NPM_TOKEN; ls $1`,
		`cat < "$NPM_TOKEN"`, `ls > "$NPM_TOKEN"`, `cat <<< "$NPM_TOKEN"`, "cat <<E\n$NPM_TOKEN\nE",
		`set -x; [ -n "$NPM_TOKEN" ]`, `set -ex; x=$NPM_TOKEN`, `set -o xtrace; [[ -n $NPM_TOKEN ]]`, `bash -xc '[ -n "$NPM_TOKEN" ]'`, `bash -o xtrace -c 'x=$NPM_TOKEN'`, `builtin set -x; : $NPM_TOKEN`,
		`[ "$NPM_TOKEN" = a ]`, `[ a != "$NPM_TOKEN" ]`, `[ "$NPM_TOKEN" -gt 1 ]`, `[ 1 -eq "$NPM_TOKEN" ]`, `test "$NPM_TOKEN" '<' b`, `[[ $NPM_TOKEN == a* ]]`, `[[ abc == $NPM_TOKEN ]]`, `[[ $NPM_TOKEN =~ ^a ]]`, `[ -f "$NPM_TOKEN" ]`,
		`case $NPM_TOKEN in a*) :;; esac`, `case abc in $NPM_TOKEN) :;; esac`, `timeout 5 ls "$NPM_TOKEN"`, `timeout "$NPM_TOKEN" ls`, `nice ls $NPM_TOKEN`, `xargs ls "$NPM_TOKEN"`,
		`cd "$NPM_TOKEN"`, `kill "$NPM_TOKEN"`, `unset "$NPM_TOKEN"`, `exit "$NPM_TOKEN"`, `echo $((NPM_TOKEN))`, `ls {a,b,c,d,e,f}{a,b,c,d,e,f}{a,b,c,d,e,f}{a,b,c,d,e,f}$NPM_TOKEN`,
		`TZ="<$NPM_TOKEN>0" date`, `TZ=$NPM_TOKEN; date`, `export TZ=$NPM_TOKEN; date`, `TZ=${NPM_TOKEN:0:3} date`, `x=$NPM_TOKEN TZ=$x date`, `x=$NPM_TOKEN; y=a$x; TZ=$y date`, `env TZ="$NPM_TOKEN" date`, `x=$y; y=$x; x=$NPM_TOKEN; TZ=$y date`,
		`LANG=$NPM_TOKEN locale`, `LC_ALL=$NPM_TOKEN`, `TERM=$NPM_TOKEN tput cols`, `GOOS=$NPM_TOKEN go list`, `NO_COLOR=$NPM_TOKEN ls`, `FOO=$NPM_TOKEN ls`, `PS3=$NPM_TOKEN; select x in a; do :; done`, `PS4=$NPM_TOKEN; set -x; ls`,
		`readonly NPM_TOKEN; readonly -p`, `readonly -p; readonly NPM_TOKEN`, `declare -r NPM_TOKEN; readonly`, `readonly x=$NPM_TOKEN; declare -r`, `eval 'readonly NPM_TOKEN'; readonly`, `arr=(a $NPM_TOKEN); declare -a`, `read -a NPM_TOKEN; declare -a`, `x[1]=$NPM_TOKEN; declare -a`, `: ${NPM_TOKEN[1]:=x}; declare -a`,
		`f() { local -I NPM_TOKEN; local; }; f`, `f() { local x=$NPM_TOKEN; local -p; }; f`, `x=$NPM_TOKEN; declare -p x`, `x=$NPM_TOKEN; set`,
		`command -V "$NPM_TOKEN"`, `command -v "$NPM_TOKEN"`, `hash "$NPM_TOKEN"`, `f() { :; }; f "$NPM_TOKEN"`,
		`[ -n "${NPM_TOKEN##a*}" ]`, `[ -z "${NPM_TOKEN%%a*}" ]`, `[ "${NPM_TOKEN#a}" ]`, `[[ -n ${NPM_TOKEN##a*} ]]`, `[[ ${NPM_TOKEN:0:1} ]]`, `case ${NPM_TOKEN##a*} in "") :;; esac`, `[ -n "${NPM_TOKEN//a}" ]`,
		`x=${NPM_TOKEN##a*}; [ -n "$x" ]`, `x=${NPM_TOKEN##a*}; echo ${x:+y}`, `x=${NPM_TOKEN%%a*}; echo ${#x}`, `x=${NPM_TOKEN%%a*}; [ ${#x} -gt 3 ]`, `x=${NPM_TOKEN%%a*}; (( ${#x} > 3 ))`, `x=${NPM_TOKEN%%a*}; y=$x; : ${y:?}`, `x=$NPM_TOKEN; y=${x#a}; [ "$y" ]`,
		`for x in ${NPM_TOKEN//a/ }; do echo x; done`, `arr=(${NPM_TOKEN//a/ }); echo ${#arr[@]}`, `: "$NPM_TOKEN"; echo $_`, `test -n "$NPM_TOKEN" || ls "$_"`, `test -n "$NPM_TOKEN"; eval 'ls "$_"'`,
	} {
		if !leaks(line, Bash) {
			t.Errorf("%q: not found", line)
		}
	}
	for _, line := range []string{
		`TZ=UTC date`, `TZ=${TZ:-UTC} date`, `TZ=${NPM_TOKEN:+UTC} date`, `LC_ALL=C sort a`, `readonly NPM_TOKEN`, `readonly x=1; readonly -p`, `declare -a`, `command -v go`, `mkdir x && cd $_`, `x=${#NPM_TOKEN}; echo $x`, `TOKEN=${GITHUB_TOKEN:-$GH_TOKEN}; [ -n "$TOKEN" ]`, `export NPM_TOKEN=$OTHER_TOKEN; npm ls`,
		`[ -n "$NPM_TOKEN" ]`, `[ -z "${NPM_TOKEN}" ] && exit 1`, `test -n "$NPM_TOKEN"`, `[ "$NPM_TOKEN" ]`, `[ ! "$NPM_TOKEN" ]`, `[ "$NPM_TOKEN" = "" ]`, `[ "" != "$NPM_TOKEN" ]`, `[ "x$NPM_TOKEN" = x ]`,
		`[ -n "$NPM_TOKEN" -a -n "$API_KEY" ]`, `[ -z "$NPM_TOKEN" ] || [ -z "$API_KEY" ]`, `[[ -n $NPM_TOKEN ]]`, `[[ $NPM_TOKEN ]]`, `[[ $NPM_TOKEN == "" ]]`, `[[ -z $NPM_TOKEN || ! $API_KEY ]]`,
		`echo "${NPM_TOKEN:+set}"`, `echo ${NPM_TOKEN:+set} ${#NPM_TOKEN}`, `[ ${#NPM_TOKEN} -gt 10 ]`, `: "${NPM_TOKEN:?must be set}"`, `: ${NPM_TOKEN:=}`, `true "$NPM_TOKEN"`,
		`x=$NPM_TOKEN`, `export NPM_TOKEN="$OTHER_TOKEN"`, `arr=("$NPM_TOKEN")`, `case $NPM_TOKEN in "") echo no;; *) echo yes;; esac`, `if [ -z "$NPM_TOKEN" ]; then echo "NPM_TOKEN is not set"; fi`,
		`NPM_TOKEN=abc; echo $NPM_TOKEN`, `set -x; ls`, `set -x; echo ${NPM_TOKEN:+set}`, `set -e; [ -n "$NPM_TOKEN" ]`, `x=$NPM_TOKEN; ls $y`, `x=$(true "$NPM_TOKEN"); ls "$x"`, `ls "$SORT_KEY" $KEYBOARD`, `echo "$TOKENIZERS_PARALLELISM"`, `cat "$TOKEN_FILE_NAME"`,
	} {
		if leaks(line, Bash) {
			t.Errorf("%q: found", line)
		}
	}
}

// TestSecretWordsOfAll checks that no program of the catalogue gets the value of a
// secret unseen, wherever it stands among the words.
func TestSecretWordsOfAll(t *testing.T) {
	silent := map[string]bool{":": true, "true": true, "false": true}
	names := []string{"NPM_TOKEN", "PGPASS", "MY_SECRET_VALUE", "AWS_ACCESS_KEY_ID", "SESSION_COOKIE", "db_password", "OPENAI_KEY"}
	forms := []string{`"$%s"`, `${%s}`, `-x="$%s"`, `--o="${%s:0:9}"`, `a "$%s"`, `-- "a$%s"`, `"${q:-$%s}"`}
	n := 0
	for p := range program.Builtin {
		if silent[p.Name] || p.Special == "declare" || p.Special == "test" {
			continue
		}
		words := []string{p.Name}
		for sub := range p.Subs {
			words = append(words, p.Name+" "+sub.Name)
		}
		for _, start := range words {
			n++
			line := start + " " + fmt.Sprintf(forms[n%len(forms)], names[n%len(names)])
			if !leaks(line, Bash) {
				t.Errorf("%q: not found", line)
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d lines", n)
	}
}
