package jsonc

import (
	"strings"
	"testing"
)

func TestTree(t *testing.T) {
	root, err := Tree("f", []byte("// head\n{\n  \"a\": [1, \"ä\\u0062\", /* x */ {\"b\": null},],\n  \"c\": true,\n} // tail"))
	if err != nil {
		t.Fatal(err)
	}
	list := root.Member("a")
	if root.Line != 2 || root.Col != 1 || len(list.Items) != 3 || list.Items[1].Text != "äb" || list.Items[1].Line != 3 || list.Items[1].Col != 12 {
		t.Errorf("%+v", root)
	}
	if b := list.Items[2].Member("b"); b.Kind != 'n' || root.Member("c").Kind != 't' || root.Member("x") != nil || root.Members[1].Line != 4 {
		t.Errorf("%+v", root)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "f:1:1: this is not JSON: the file ends too early",
		"{\n  \"a\": }":                "f:2:8: this is not JSON",
		"{\"a\": 1,\n \"a\": 2}":       `f:2:2: "a" stands here twice`,
		"[{\"x\": 1, \"\\u0078\": 2}]": `f:1:11: "x" stands here twice`,
		strings.Repeat("[", maxOpen+1): "f has more than 200000 brackets",
		strings.Repeat(" ", MaxSize+1): "f is larger than 4 MiB",
	} {
		if _, err := Tree("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: %v, not %s", text, err, want)
		}
	}
}

func FuzzTree(f *testing.F) {
	f.Add("{\"a\": [1, {}] /* x */,}")
	f.Fuzz(func(t *testing.T, text string) {
		root, err := Tree("f", []byte(text))
		if err == nil && (root.Line < 1 || root.Line > strings.Count(text, "\n")+1 || root.Col < 1) {
			t.Fatalf("no place: %+v", root)
		}
	})
}
