package shell

import (
	"strings"
	"testing"
)

// TestEndsJobs checks which lines end jobs of the shell and nothing else.
func TestEndsJobs(t *testing.T) {
	for line, want := range map[string]bool{
		"kill %1": true, "kill $!": true, "kill -9 %1 $!": true, `kill "$!"`: true,
		"kill x$!": false, "kill $!x": false, "kill 1": false, "kill $x": false, "kill": false, "kill %1 1": false, "kill -1 %1": false,
	} {
		if a := &Analyze(line, Options{Dir: "/p"}).Actions[0]; a.EndsJobs() != want {
			t.Errorf("%s: ends jobs only: %v", line, !want)
		}
	}
}

// TestNamesElsewhere checks that a word that is not known may make git show more of a
// repository elsewhere.
func TestNamesElsewhere(t *testing.T) {
	for line, want := range map[string]bool{
		"git -C /other log --oneline": true, "git -C /other status -s": true,
		`git -C /other log --oneline "x$y"`: false, `git -C /other log --oneline -n"$y"`: false, "git -C /other show": false,
	} {
		if a := &Analyze(line, Options{Dir: "/p", Workspace: "/p"}).Actions[0]; a.NamesElsewhere() != want {
			t.Errorf("%s: shows names only: %v", line, !want)
		}
	}
}

// TestNotHarmless checks what the review of harmless entries found
// (docs/proof/harmless-review.txt): each of these lines runs, reads, writes or sets
// something that its entry called harmless.
func TestNotHarmless(t *testing.T) {
	for line, want := range map[string]string{
		"arch -x86_64 rm x":                                    "run rm",
		"arch -arch arm64 rm x":                                "run rm",
		"http -f localhost:3000 a@.env":                        "read .env",
		"http localhost:3000 'a@.env;type=x'":                  "read .env",
		"http :3000 a=@.env":                                   "read .env",
		"http post :3000 a:=@.env":                             "read .env",
		"xh :3000 a==@.env":                                    "read .env",
		"xh :3000 X-A:@.env":                                   "read .env",
		"xhs put :3000 @.env":                                  "read .env",
		"curl --proto-default file localhost/p/.env":           "read .env",
		`curl --proto-default "$x" localhost/p/.env`:           "read .env",
		"curl file:/p/.env":                                    "read .env",
		"curl --url file:///p/.env":                            "read .env",
		"lolcat .env":                                          "read .env",
		"lolcat -a .env":                                       "read .env",
		"pmap -N src/x 1":                                      "write src/x",
		"pmap --create-rc-to=src/x 1":                          "write src/x",
		"pmap -n 1":                                            "unproven",
		"dmidecode --dump-bin src/x":                           "write src/x",
		"hwinfo --log src/x --disk":                            "write src/x",
		"cowsay -f ./evil.cow hi":                              "run ./evil.cow",
		"last -f .env":                                         "read .env",
		"mcookie -f .env":                                      "read .env",
		"lspci -i .env":                                        "read .env",
		"lspci -q":                                             "unproven",
		"objdump @f":                                           "opaque",
		"nm @f":                                                "opaque",
		"date 010100002020":                                    "unproven",
		"date -u 01010000":                                     "unproven",
		"hostname x":                                           "unproven",
		"git branch --edit-description":                        "unproven",
		"rg --search-zip x":                                    "unproven",
		"rg -zn x":                                             "unproven",
		"eslint --inspect-config":                              "opaque",
		"eslint --init":                                        "opaque",
		"mise run --tool x@y t":                                "unproven",
		"mise -t x@y run t":                                    "unproven",
		"perl -M'POSIX;system(\"rm x\")' f.pl":                 "opaque",
		"perl '-M-strict;exec q(rm)' f.pl":                     "opaque",
		"perl -MPOSIX=floor f.pl":                              "clear",
		"perl -M-strict -MJSON::PP f.pl":                       "clear",
		"date +%s":                                             "proven",
		"bc -l":                                                "proven",
		"bc -f .env":                                           "read .env",
		"bc .env":                                              "read .env",
		"dc -e '!rm x'":                                        "opaque",
		"journalctl -b -1 --no-pager":                          "proven",
		"gh search code x --limit 5":                           "proven",
		"date -d yesterday +%F":                                "proven",
		"hostname -f":                                          "proven",
		"git branch -a":                                        "proven",
		"arch":                                                 "proven",
		"pmap -x 1":                                            "proven",
		"lspci -nnk":                                           "proven",
		"uuidgen -r":                                           "proven",
		"atop -w src/x 1 5":                                    "write src/x",
		"atop -aw src/x":                                       "write src/x",
		"atop -r .env":                                         "read .env",
		"glances -C x.conf":                                    "run x.conf",
		"glances --export-csv-file src/x":                      "write src/x",
		"glances -w":                                           "unproven",
		"glances -s":                                           "unproven",
		"glances -c host":                                      "unproven",
		"iftop -c .env":                                        "read .env",
		"mediainfo --LogFile=src/x a.mkv":                      "write src/x",
		"mediainfo --Inform=file://.env a.mkv":                 "unproven",
		"jpeginfo -d src/x":                                    "write src/x",
		"jpeginfo -cd src/x":                                   "write src/x",
		"jpeginfo -f.env":                                      "read .env",
		"jpeginfo --file=.env":                                 "read .env",
		"inotifywait -d -o src/x a":                            "write src/x",
		"inotifywatch --fromfile .env":                         "read .env",
		"top -b -n1":                                           "proven",
		"top -b -n 1 -p 1":                                     "proven",
		"htop -t":                                              "proven",
		"iotop -b -n 3":                                        "proven",
		"glances -1":                                           "proven",
		"nethogs eth0":                                         "proven",
		"fc-list :lang=de family":                              "proven",
		"inotifywait -m -r src":                                "proven",
		"fswatch -0 -r src":                                    "proven",
		"mypy --junit-xml=src/x a.py":                          "write src/x",
		"mypy --html-report src a.py":                          "write src",
		"stubgen -o src/x a.py":                                "below src/x",
		"dmypy --log-file src/x run":                           "write src/x",
		"flake8 --install-hook git":                            "unproven",
		"flake8 --output-file src/x a.py":                      "write src/x",
		"pylint --evaluation='f()' a.py":                       "opaque",
		"pylint --eval 'f()' a.py":                             "opaque",
		"pylint --import-graph src/x.dot a.py":                 "write src/x.dot",
		"pylint --unsafe-load-any-extension=y a.py":            "unproven",
		"bandit -r -o src/x a":                                 "write src/x",
		"radon cc -O src/x a":                                  "write src/x",
		"ansible-lint --write src/a.yml":                       "write src/a.yml",
		"ansible-lint --fix=all src/a.yml":                     "write src/a.yml",
		"ansible-lint --generate-ignore":                       "unproven",
		"ansible-lint -r ./rules a.yml":                        "run ./rules",
		"sqlfluff fix src/a.sql":                               "write src/a.sql",
		"sqlfluff format src/a.sql":                            "write src/a.sql",
		"sqlfluff lint --write-output src/x a.sql":             "write src/x",
		"check-manifest -u src":                                "unproven",
		"semgrep --config p -a src/a.py":                       "write src/a.py",
		"semgrep scan --autofix src/a.py":                      "write src/a.py",
		"semgrep scan --sarif-output=src/x a":                  "write src/x",
		"twine upload .env":                                    "read .env",
		"pyright --baselinefile src/x":                         "write src/x",
		"cloc --out=src/x .":                                   "write src/x",
		"cloc --rep src/x .":                                   "write src/x",
		"cloc --strip-comments=nc --original-dir src/a.c":      "write src/a.c",
		"cloc --list-file=.env":                                "read .env",
		"cloc --vcs='rm x' .":                                  "run rm",
		"scc -o src/x .":                                       "write src/x",
		"cppcheck --dump src/a.c":                              "write src/a.c",
		"cppcheck --output-file=src/x a.c":                     "write src/x",
		"clang-format -i src/a.c":                              "write src/a.c",
		"clang-format -style=file -i src/a.c":                  "write src/a.c",
		"ctags -fsrc/x a.c":                                    "write src/x",
		"ctags -L .env":                                        "read .env",
		"tflint --fix src/a.tf":                                "write src/a.tf",
		"tflint --init":                                        "unproven",
		"nosetests --xunit-file=src/x":                         "write src/x",
		"nosetests -A 'f()' src":                               "opaque",
		"dot -Tpng -osrc/x a.dot":                              "write src/x",
		"dot -O src/a.dot":                                     "write src/a.dot",
		"dot -c":                                               "unproven",
		"staticcheck -debug.trace src/x ./...":                 "write src/x",
		"staticcheck -merge .env":                              "unproven",
		"sphinx-build docs src/x":                              "write src/x",
		"sphinx-build -w src/x docs out":                       "write src/x",
		"rollup a.js -o src/x.js":                              "write src/x.js",
		"rollup a.js --watch.onStart 'rm x'":                   "run rm",
		"rollup -p '{f:rm()}' a.js":                            "opaque",
		"stylelint --fix src/a.css":                            "write src/a.css",
		"stylelint --fix=lax src/a.css":                        "write src/a.css",
		"markdownlint -f src/a.md":                             "write src/a.md",
		"madge -i src/x.svg a.js":                              "write src/x.svg",
		"hadolint -c .env Dockerfile":                          "read .env",
		"ast-grep -p a -r b -U src/a.go":                       "write src/a.go",
		"ast-grep run -p a -r b -i src/a.go":                   "write src/a.go",
		"ast-grep --custom-languages allow -p x .":             "opaque",
		"coverage run -m pytest --junitxml=src/x":              "write src/x",
		"fakeroot -s src/x make":                               "write src/x",
		"fakeroot -l ./x.so ls":                                "run ./x.so",
		"dbus-run-session --dbus-daemon=./x ls":                "run ./x",
		"torsocks --shell":                                     "opaque",
		"firejail --output=src/x ls":                           "write src/x",
		"firejail --env=LD_PRELOAD=./x ls":                     "opaque",
		"firejail --join=x ls":                                 "opaque",
		"bwrap --bind src /w touch /w/a":                       "opaque",
		"bwrap --setenv LD_PRELOAD ./x ls":                     "opaque",
		"bwrap --chdir src touch a":                            "write src/a",
		"nsenter -t 1 -wsrc touch a":                           "write src/a",
		"nsenter -t 1 -r/x ls":                                 "unproven",
		"unshare --net=src/x ls":                               "write src/x",
		"proot -w src touch a":                                 "write src/a",
		"chpst -/ x ls":                                        "unproven",
		"unshare -R /x ls":                                     "unproven",
		"run0 --property=ExecStartPre=x ls":                    "opaque",
		"run0 --setenv=LD_PRELOAD=./x ls":                      "opaque",
		"systemd-run --path-property=x ls":                     "opaque",
		"systemd-run -E LD_PRELOAD=./x ls":                     "opaque",
		"watchexec -E LD_PRELOAD=./x ls":                       "opaque",
		"sudoedit -D src a":                                    "write src/a",
		"sudoedit -R x a":                                      "opaque",
		"valgrind --vgdb-prefix=src/x ls":                      "write src/x",
		"cowsay -d hi":                                         "proven",
		"users .env":                                           "read .env",
		"md5 -h src/x a":                                       "write src/x",
		"locate -d .env x":                                     "read .env",
		"locate -Ad.env x":                                     "read .env",
		"wdiff -a a b":                                         "unproven",
		"pcregrep --file-list=.env x":                          "read .env",
		"pcregrep --exclude-from .env -r x":                    "read .env",
		"pcre2grep '(?C\"/bin/rm|x\")' f":                      "opaque",
		"pcre2grep -n -e x f":                                  "opaque",
		"git ls-files -o -X .env":                              "read .env",
		"lsd --config-file .env":                               "read .env",
		"eza --write-theme=src":                                "below src",
		"eza --write-theme src":                                "below src",
		"users":                                                "proven",
		"locate -i x":                                          "proven",
		"diff -u a b":                                          "clear",
		"wdiff -n a b":                                         "clear",
		"eza -la --git src":                                    "proven",
		"lsd -la src":                                          "proven",
		"GREP=./x zgrep a b":                                   "opaque",
		"WORDLIST=.env look a":                                 "opaque",
		"LOCATE_PATH=.env locate a":                            "opaque",
		"PYLINTRC=./x pylint src":                              "opaque",
		"aws ec2 describe-instances --debug":                   "unproven",
		"aws ec2 describe-instances --no-verify-ssl":           "unproven",
		"cargo search x --registry y":                          "unproven",
		"kubectl get pods -o go-template-file --template=.env": "read .env",
		"MYPYPATH=./x mypy src":                                "opaque",
		"YAMLLINT_CONFIG_FILE=./x yamllint a":                  "opaque",
	} {
		if want != "" && !does(line, want) {
			t.Errorf("%s: not %s", line, want)
		}
	}
}

// does reports whether a line has an effect.
func does(line, want string) bool {
	facts := Analyze(line, Options{Dir: "/p", Home: "/h", Workspace: "/p"})
	switch want {
	case "opaque":
		return hasOpaque(facts, MayRun)
	case "clear":
		return !hasOpaque(facts, MayRun)
	case "unproven":
		return facts.Actions[0].Unproven()
	case "proven":
		return !facts.Actions[0].Unproven() && len(facts.Actions) == 1
	}
	for i := range facts.Actions {
		switch a := &facts.Actions[i]; {
		case a.Kind == Command && want == "run "+a.Words[0].Text,
			a.Kind == Read && want == "read "+inProject(a.Path.Text), a.Kind == Write && want == "write "+inProject(a.Path.Text),
			a.Kind == Write && !a.Path.Known() && want == "below "+strings.TrimSuffix(inProject(a.Path.Text), "/"):
			return true
		}
	}
	return false
}

func inProject(path string) string {
	if len(path) > 3 && path[:3] == "/p/" {
		return path[3:]
	}
	return path
}
