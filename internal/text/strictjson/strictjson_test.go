package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type inner struct {
	Kind  string   `json:"kind"`
	Tasks []string `json:"tasks"`
}

type embedded struct {
	Note string `json:"note"`
}

type sample struct {
	embedded
	Mode   string            `json:"mode"`
	Count  int8              `json:"count"`
	On     bool              `json:"on"`
	Rules  []inner           `json:"rules"`
	Extra  json.RawMessage   `json:"extra"`
	Any    any               `json:"any"`
	Links  map[string]string `json:"links"`
	Maybe  *string           `json:"maybe"`
	Hidden string            `json:"-"`
	Nested map[string]inner  `json:"nested"`
	Bytes  []byte            `json:"bytes"`
	Pair   [2]int            `json:"pair"`
	Struct inner             `json:"struct"`
	Untag  inner
	Plain  string
}

func TestDecode(t *testing.T) {
	want := sample{
		embedded: embedded{Note: "n"}, Mode: "é\U0001F600\n", Count: -7, On: true,
		Rules: []inner{{Kind: "k", Tasks: []string{"a", "b"}}, {}},
		Extra: json.RawMessage(`{"A":1,"a":2}`), Any: map[string]any{"n": json.Number("12345678901234567890.5")},
		Links: map[string]string{"A": "1", "a": "2"}, Plain: "p",
		Nested: map[string]inner{"X": {Kind: "é x\t9"}, "x": {Kind: "\u0080"}}, Bytes: []byte("AB"), Pair: [2]int{9, 19},
		Struct: inner{Kind: "s"}, Untag: inner{Kind: "u"},
	}
	in := ` {"note":"n","mode":"\u00e9\ud83d\ude00\n","count":-7,"on":true,
		"rules":[{"kind":"k","tasks":["a","b"]},{}],"extra":{"A":1,"a":2},
		"any":{"n":12345678901234567890.5},"links":{"A":"1","a":"2"},"maybe":null,"Plain":"p",
		"nested":{"X":{"kind":"é x\t9"},"x":{"kind":"\u0080"}},"bytes":"QUI=","pair":[9,19],"struct":{"kind":"s"},"Untag":{"kind":"u"}} `
	var got sample
	if err := Decode([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{})); diff != "" {
		t.Error(diff)
	}
}

func TestRefused(t *testing.T) {
	deep := strings.Repeat("[", defaultMaxDepth+1) + strings.Repeat("]", defaultMaxDepth+1)
	tests := []struct{ name, in, want string }{
		{"duplicate", `{"mode":"a","mode":"b"}`, `1:13: key mode appears twice in one object`},
		{"escaped duplicate", `{"mode":"a","m\u006fde":"b"}`, `1:13: key mode appears twice in one object`},
		{"nested duplicate", `{"any":[{"a":1,"a":1}]}`, `1:16: any[0]: key a appears twice in one object`},
		{"duplicate in raw", `{"extra":{"a":1,"a":1}}`, `1:17: extra: key a appears twice in one object`},
		{"other case", `{"MODE":"a"}`, `1:2: unknown key MODE (did you mean mode?)`},
		{"Kelvin sign", `{"rules":[{"` + "\u212a" + `ind":"x"}]}`, `1:12: rules[0]: unknown key "\u212aind" (did you mean kind?)`},
		{"long s", `{"rules":[{"ta` + "\u017f" + `ks":[]}]}`, `1:12: rules[0]: unknown key "ta\u017fks" (did you mean tasks?)`},
		{"NUL", `{"mode\u0000":"a"}`, `1:2: key "mode\x00" contains a NUL`},
		{"unknown", "{\n \"other\":1}", `2:2: unknown key other (the keys are Plain, Untag, any, bytes, count, extra, links, maybe, mode, nested, note, on, pair, rules, struct)`},
		{"misspelt", `{"nope":1}`, `1:2: unknown key nope (did you mean note?)`},
		{"hidden field", `{"Hidden":"x"}`, `1:2: unknown key Hidden (the keys are Plain, Untag, any, bytes, count, extra, links, maybe, mode, nested, note, on, pair, rules, struct)`},
		{"trailing value", `{} {}`, `1:4: text after the end of the value`},
		{"trailing brace", `{}}`, `1:3: text after the end of the value`},
		{"bad UTF-8", "{\"mode\":\"\xff\"}", `1:10: mode: not valid UTF-8`},
		{"bad UTF-8 in key", "{\"\xc3\":1}", `1:3: not valid UTF-8`},
		{"encoded surrogate", "{\"mode\":\"\xed\xa0\x80\"}", `1:10: mode: not valid UTF-8`},
		{"lone high", `{"mode":"\ud800"}`, `1:10: mode: half of a surrogate pair in a string`},
		{"lone low", `{"mode":"\udc00x"}`, `1:10: mode: half of a surrogate pair in a string`},
		{"two highs", `{"mode":"\ud800\ud800"}`, `1:10: mode: half of a surrogate pair in a string`},
		{"byte order mark", "\ufeff{}", `1:1: '\ufeff' where a value is expected`},
		{"depth", `{"any":` + deep + `}`, `1:135: any` + strings.Repeat("[0]", defaultMaxDepth-1) + `: nested deeper than 128`},
		{"object for string", `{"mode":{}}`, `1:9: mode: must be a string, not an object`},
		{"string for array", `{"rules":"x"}`, `1:10: rules: must be an array, not a string`},
		{"string for boolean", `{"on":"true"}`, `1:7: on: must be a boolean, not a string`},
		{"number for string in array", `{"rules":[{"tasks":["a",1]}]}`, `1:25: rules[0].tasks[1]: must be a string, not a number`},
		{"string for number", `{"count":"1"}`, `1:10: count: must be a number, not a string`},
		{"number too big", `{"count":128}`, `1:13: count: number 128 is out of range`},
		{"null", `{"mode":null}`, `1:9: mode: must be a string, not null`},
		{"array", `[]`, `1:1: must be an object, not an array`},
		{"empty", ``, `1:1: the text ends where a value is expected`},
		{"blank", " \n", `2:1: the text ends where a value is expected`},
		{"comment", `{/*x*/}`, `1:2: '/' where a key in double quotes is expected`},
		{"single quotes", `{'a':1}`, `1:2: '\'' where a key in double quotes is expected`},
		{"no colon", `{"any" 1}`, `1:8: '1' where a colon is expected`},
		{"comma at the end", `{"any":1,}`, `1:10: '}' where a key in double quotes is expected`},
		{"comma in array", `{"any":[1,]}`, `1:11: any[1]: ']' where a value is expected`},
		{"no comma", `{"any":[1 2]}`, `1:11: any: '2' where a comma or ] is expected`},
		{"wrong bracket", `{"any":[1}}`, `1:10: any: '}' where a comma or ] is expected`},
		{"cut off", `{"any":[1`, `1:10: any: the text ends where a comma or ] is expected`},
		{"cut off in string", `{"any":"x`, `1:10: any: the text ends inside a string`},
		{"cut off in escape", `{"any":"x\`, `1:10: any: the text ends inside a string`},
		{"bad escape", `{"any":"\x41"}`, `1:9: any: a malformed escape in a string`},
		{"signed escape", `{"any":"\u+123"}`, `1:9: any: a malformed escape in a string`},
		{"cut off in unicode escape", `{"any":"\u12`, `1:9: any: a malformed escape in a string`},
		{"short unicode escape", `{"any":"\u12"}`, `1:9: any: a malformed escape in a string`},
		{"cut off in surrogate pair", `{"any":"\ud83d\u`, `1:9: any: half of a surrogate pair in a string`},
		{"text after high surrogate", `{"any":"\ud83dxude00"}`, `1:9: any: half of a surrogate pair in a string`},
		{"other escape after high surrogate", `{"any":"\ud83d\nde00"}`, `1:9: any: half of a surrogate pair in a string`},
		{"NUL in a string", "{\"any\":\"\x00\"}", `1:9: any: a control character in a string`},
		{"NUL as the next byte", "{\"any\":\x00}", `1:8: any: '\x00' where a value is expected`},
		{"long key", `{"` + strings.Repeat("k", 100) + `":1}`, `1:2: unknown key ` + strings.Repeat("k", 64) + `... (the keys are Plain, Untag, any, bytes, count, extra, links, maybe, mode, nested, note, on, pair, rules, struct)`},
		{"key of the longest kind", `{"` + strings.Repeat("k", 64) + `":1}`, `1:2: unknown key ` + strings.Repeat("k", 64) + ` (the keys are Plain, Untag, any, bytes, count, extra, links, maybe, mode, nested, note, on, pair, rules, struct)`},
		{"twin below a map", `{"nested":{"x":{"Kind":""}}}`, `1:17: nested.x: unknown key Kind (did you mean kind?)`},
		{"number for bytes", `{"bytes":1}`, `1:10: bytes: must be a string, not a number`},
		{"string in array of numbers", `{"pair":[1,"2"]}`, `1:12: pair[1]: must be a number, not a string`},
		{"deep objects", strings.Repeat(`{"any":`, defaultMaxDepth+1), `1:897: ` + strings.Repeat("any.", defaultMaxDepth-1) + `any: nested deeper than 128`},
		{"control character", "{\"any\":\"a\tb\"}", `1:10: any: a control character in a string`},
		{"leading zero", `{"any":01}`, `1:9: '1' where a comma or } is expected`},
		{"plus", `{"any":+1}`, `1:8: any: '+' where a value is expected`},
		{"bare point", `{"any":1.}`, `1:10: any: '}' where a digit is expected`},
		{"bare exponent", `{"any":1e+}`, `1:11: any: '}' where a digit is expected`},
		{"minus only", `{"any":-}`, `1:9: any: '}' where a digit is expected`},
		{"NaN", `{"any":NaN}`, `1:8: any: 'N' where a value is expected`},
		{"half a word", `{"any":tru}`, `1:8: any: 't' where a value is expected`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v sample
			err := Decode([]byte(tt.in), &v)
			var placed *inputError
			if !errors.As(err, &placed) {
				t.Fatalf("error %v is no *Error", err)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	var v sample
	if err := Decode([]byte(`{"other":{"x":[1]},"mode":"m"}`), &v, IgnoreUnknown); err != nil || v.Mode != "m" {
		t.Errorf("IgnoreUnknown: %v, %+v", err, v)
	}
	if err := Decode([]byte(`{"Mode":"m"}`), &v, IgnoreUnknown); err == nil {
		t.Error("IgnoreUnknown lets a case twin pass")
	}
	if err := Decode([]byte(`{"other":{"a":1,"a":2}}`), &v, IgnoreUnknown); err == nil {
		t.Error("IgnoreUnknown lets a duplicate in an ignored value pass")
	}
	v = sample{}
	if err := Decode([]byte(`{"mode":null,"rules":null}`), &v, NullAbsent); err != nil || v.Mode != "" {
		t.Errorf("NullAbsent: %v, %+v", err, v)
	}
	if err := Decode([]byte(`{"rules":[{"tasks":[null]}]}`), &v, NullAbsent); err == nil {
		t.Error("NullAbsent lets null stand for an element")
	}
	if err := Decode([]byte(`{"mode":"m"}`), &v, MaxSize(11)); err == nil {
		t.Error("MaxSize is not kept")
	}
	if err := Decode([]byte(`{"mode":"m"}`), &v, MaxSize(12)); err != nil {
		t.Error(err)
	}
	if err := Decode([]byte(`{"any":{}}`), &v, maxDepth(2)); err != nil {
		t.Error(err)
	}
	if err := Decode([]byte(`{"any":{"x":{}}}`), &v, maxDepth(2)); err == nil {
		t.Error("MaxDepth is not kept for objects")
	}
	if err := Decode([]byte(`{"any":[[]]}`), &v, maxDepth(2)); err == nil {
		t.Error("MaxDepth is not kept")
	}
	if err := Decode([]byte(`{"any":[]}`), &v, maxDepth(2)); err != nil {
		t.Error(err)
	}
	if err := Decode([]byte(`{}`), v); err == nil {
		t.Error("Decode takes what is no pointer")
	}
}

func TestObject(t *testing.T) {
	got, err := Object([]byte(`{"command":"ls","n":1e999,"deep":{"Command":1}}`), Known("command"))
	want := map[string]any{"command": "ls", "n": json.Number("1e999"), "deep": map[string]any{"Command": json.Number("1")}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, in := range []string{
		`{"command":"ls","Command":"rm"}`, `{"COMMAND":"rm"}`, `{"command\u0000":"rm"}`,
		`[]`, `null`, `"x"`, ``, `{"command":"ls","command":"rm"}`,
	} {
		if got, err := Object([]byte(in), Known("command")); err == nil || got != nil {
			t.Errorf("Object(%s) = %v, %v", in, got, err)
		}
	}
	if got, err := Object([]byte(`null`), NullAbsent); err == nil || got != nil {
		t.Errorf("Object(null) = %v, %v", got, err)
	}
}

func TestPositions(t *testing.T) {
	got, err := Positions([]byte("[\n {\"a\": [1,\n2], \"b c\": {}}]"))
	want := map[string]Position{
		"": {1, 1}, "[0]": {2, 2}, "[0].a": {2, 8}, "[0].a[0]": {2, 9}, "[0].a[1]": {3, 1}, "[0].b c": {3, 12},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := Positions([]byte("[")); err == nil {
		t.Error("Positions takes half a document")
	}
}

// FuzzDecode: what is accepted, encoding/json decodes to the same value, and it
// survives a round trip.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"mode":"a"}`, `{"mode":"\ud83d\ude00"}`, `[1,-0,1.5e-7]`, `null`, `{"a":{"b":[true,false,null]}}`,
		`{"Mode":1}`, "{\"a\":\"\xff\"}", `"\u0000"`, `{"rules":[{"kind":"x","tasks":["y"]}],"any":1}`, `01`, `1 1`,
		`{"command":"ls \u00e9\n","x":"\ud83d\ude00"}`, ` { "a" : "b" , "c" : "" } `, `{}`, `{"a":"b","c":1}`, `{"a":{"b":"c"}}`, `{"a":"b",}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sameAsStandard[any](t, data)
		sameAsStandard[sample](t, data)
		sameAsStandard[map[string]any](t, data, NullAbsent)
		sameObject(t, data)
	})
}

func sameAsStandard[T any](t *testing.T, data []byte, opts ...Option) {
	t.Helper()
	var ours, theirs T
	if Decode(data, &ours, opts...) != nil {
		return
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(&theirs); err != nil {
		t.Fatalf("accepted, but encoding/json says %v", err)
	}
	if !json.Valid(data) {
		t.Fatal("accepted, but not valid")
	}
	if !reflect.DeepEqual(ours, theirs) {
		t.Fatalf("%v differs from %v", ours, theirs)
	}
}

// sameObject compares Object, which has a fast path for objects of strings,
// with Decode.
func sameObject(t *testing.T, data []byte) {
	t.Helper()
	var want map[string]any
	err := Decode(data, &want, Known("command"))
	got, errObject := Object(data, Known("command"))
	if (err == nil) != (errObject == nil) || err != nil && err.Error() != errObject.Error() {
		t.Fatalf("Object says %v, Decode %v", errObject, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// TestAside: keys that are set aside are allowed anywhere and are in no value.
func TestAside(t *testing.T) {
	type inner struct {
		A int            `json:"a"`
		M map[string]int `json:"m"`
	}
	type outer struct {
		Schema string           `json:"$schema"`
		In     inner            `json:"in"`
		All    map[string]inner `json:"all"`
	}
	aside := Aside("$schema", "$comment")
	want := outer{Schema: "s", In: inner{A: 1, M: map[string]int{"x": 2}}, All: map[string]inner{"k": {A: 3}}}
	for _, text := range []string{
		`{"$schema":"s","in":{"a":1,"m":{"x":2}},"all":{"k":{"a":3}}}`,
		`{"$comment":"c","$schema":"s","in":{"$comment":[1],"a":1,"m":{"$comment":"c","x":2}},"all":{"$schema":"t","$comment":"c","k":{"a":3,"$comment":null}}}`,
		`{"$schema":"s","in":{"a":1 , "$comment" : {"$comment":1} , "m":{"x":2,"$schema":1,"$comment":2}},"all":{"k":{"$comment":1,"a":3},"$comment":"c"},"$comment":"d"}`,
		"{\"\\u0024comment\":\"a\\nb\",\n\"$schema\":\"s\",\"in\":{\"a\":1,\"m\":{\"x\":2}},\"all\":{\"k\":{\"a\":3}}}",
	} {
		var got outer
		if err := Decode([]byte(text), &got, aside); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Error(text, diff)
		}
	}
	for text, want := range map[string]string{
		`{"$comment":1}`:                          "",
		`{"$Comment":1}`:                          "1:2: unknown key $Comment (did you mean $comment?)",
		`{"in":{"m":{"$COMMENT":1}}}`:             "1:13: in.m: unknown key $COMMENT (did you mean $comment?)",
		`{"$comment":1,"$comment":2}`:             "1:15: key $comment appears twice in one object",
		`{"$schema":1}`:                           "1:12: $schema: must be a string, not a number",
		`{"$comment":}`:                           `1:13: $comment: '}' where a value is expected`,
		"{\"$comment\":\n1,\n\"in\":{\"a\":1.5}}": "3:14: in.a: number 1.5 is not a whole number",
	} {
		var got outer
		err := Decode([]byte(text), &got, aside)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	var got outer
	if err := Decode([]byte(`{"$comment":1}`), &got); err == nil {
		t.Error("$comment without Aside is accepted")
	}
}

// FuzzAside: setting keys aside equals removing them from the value.
func FuzzAside(f *testing.F) {
	f.Add([]byte(`{"c":1,"a":{"c":[{"c":1}],"b":2},"d":[{"x":1,"c":2}]}`))
	f.Add([]byte(`[{"c":"x" , "\u0063d":1 } , {"a":1, "c":2}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var all, rest any
		err := Decode(data, &all)
		if errAside := Decode(data, &rest, Aside("c")); (err == nil) != (errAside == nil) && !bytes.ContainsAny(data, "C\\") {
			t.Fatalf("%v, with keys aside %v", err, errAside)
		} else if err != nil || errAside != nil {
			return
		}
		if diff := cmp.Diff(without(all, "c"), rest); diff != "" {
			t.Fatal(diff)
		}
	})
}

func without(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, key)
		for k, inner := range v {
			v[k] = without(inner, key)
		}
	case []any:
		for i, inner := range v {
			v[i] = without(inner, key)
		}
	}
	return v
}

func TestNoNull(t *testing.T) {
	var v struct {
		A *int `json:"a"`
		B any  `json:"b"`
	}
	if err := Decode([]byte(`{"a":null}`), &v); err != nil {
		t.Error(err)
	}
	if err := Decode([]byte(`{"a":null}`), &v, NoNull); err == nil || err.Error() != "1:6: a: must be a number, not null" {
		t.Error(err)
	}
	if err := Decode([]byte(`{"a":1,"b":null}`), &v, NoNull); err != nil || *v.A != 1 {
		t.Error(err)
	}
}

// maxDepth sets the maximum depth of nested arrays and objects.
func maxDepth(n int) Option { return func(s *scanner) { s.maxDepth = n } }
