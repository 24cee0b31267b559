package risk

import "testing"

func TestSpellsOut(t *testing.T) {
	for text, want := range map[string]bool{
		`echo $'\x72\x6d'`: true, `echo $'\162'`: true, `echo $'a\u0072'`: true, `echo $'\U00000072'`: true, `echo $'\x7'2`: false,
		`echo $'\x1b[1m'`: false, `echo $'\e[1m\t\n'`: false, `echo $'é'`: false, `echo $'\u00e9'`: false, `echo $'\\x72'`: false,
		`echo '\x72'`: false, `echo "\x72"`: false, `echo $'a' $'\x72'`: true, `echo $'\0'`: false, `echo $'\`: false, `echo $'\x'`: false,
		`echo $'it\'s \x72'`: true, `echo $'a' '\x72'`: false, ``: false, `$'\xzz'`: false,
	} {
		if got := spellsOut(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
		if f := Facts(analyze(text), Default); want && f.Class == Safe {
			t.Errorf("%q is safe", text)
		}
	}
}
