package shell

import "testing"

// TestMayMove: what may change the directory of the shell counts, and only a builtin that
// certainly changes it is one that moves.
func TestMayMove(t *testing.T) {
	for line, want := range map[string]struct{ may, moves bool }{
		"ls": {}, "cat a | sort > b": {}, "git status && go test ./...": {}, "echo cd": {}, "(ls; pwd)": {}, "x=1": {}, "[[ -d x ]]": {},
		"./cd x": {}, "./run.sh": {}, "make x": {}, "python3 -c 1": {}, "bash run.sh": {}, "curl x | sh": {}, "": {},
		"pnpm typecheck": {}, "uv run z": {}, "xargs z < f": {}, "make z": {},
		"cd sub": {true, true}, "ls; cd ..": {true, true}, "c\\d sub": {true, true}, "'cd' sub": {true, true}, "chdir sub": {true, true},
		"builtin cd sub": {true, true}, "command cd sub": {true, true}, "eval 'cd sub'": {true, true}, "time cd sub": {true, true},
		"pushd x": {true, true}, "popd": {true, true}, "(cd sub && ls)": {true, true}, "true || cd x": {true, true},
		"if x; then cd y; fi": {true, true}, "f() { cd sub; }; f": {true, true}, "trap 'cd /' EXIT": {true, true}, "echo $(": {true, false},
		"eval $x": {true, false}, ". ./env": {true, false}, "source env.sh": {true, false}, "command source env.sh": {true, false},
		"source <(curl x)": {true, false}, "alias ls='cd /'": {true, false}, "$x sub": {true, false}, "$x/cd sub": {true, false},
		"z sub": {true, false}, "f() { ls; }; f": {true, false}, "shopt -s autocd": {true, false}, "enable -f x y": {true, false},
	} {
		f, moves := Analyze(line, Options{}), false
		for i := range f.Actions {
			moves = moves || f.Actions[i].Moves()
		}
		if may := f.MayMove(); may != want.may || moves != want.moves {
			t.Errorf("%s: may move %v, moves %v", line, may, moves)
		}
	}
	for _, d := range []Dialect{Zsh, Sh, Foreign} {
		if !Analyze("chdir x", Options{Dialect: d}).MayMove() {
			t.Errorf("dialect %d: chdir stays", d)
		}
	}
}
