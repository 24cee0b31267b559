package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var head = Header{Version: 3, Term: Term{Columns: 80, Rows: 24, Type: "xterm-256color"}, Timestamp: 1763935722, Title: "bot", Tags: []string{"session-1"}}

// read returns all events of a recording, and the error that ended it.
func read(in io.Reader) (h Header, all []Event, err error) {
	r, err := NewReader(in)
	if err != nil {
		return h, nil, err
	}
	for {
		e, err := r.Next()
		if err != nil {
			return r.Header, all, err
		}
		all = append(all, e)
	}
}

// written returns the recording of events.
func written(t testing.TB, h Header, all []Event) string {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, h)
	for i := 0; i < len(all) && err == nil; i++ {
		err = w.Write(all[i])
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func ms(n time.Duration) time.Duration { return n * time.Millisecond }

func TestWrite(t *testing.T) {
	got := written(t, head, []Event{
		{ms(1500), Output, "\x1b[1m<b> \u20ac\u2028\r\n"},
		{ms(1400), Output, "earlier"},
		{ms(1500) + 999, Marker, "asked high k3: rm \"x\""},
		{ms(2000), Resize, Size(100, 40)},
		{ms(2000), Input, "a\x00\xffb\xe2\x82"},
		{time.Hour, Exit, "0"},
	})
	want := `{"version":3,"term":{"cols":80,"rows":24,"type":"xterm-256color"},"timestamp":1763935722,"title":"bot","tags":["session-1"]}
[1.500000,"o","\u001b[1m<b> €\u2028\r\n"]
[0.000000,"o","earlier"]
[0.000000,"m","asked high k3: rm \"x\""]
[0.500000,"r","100x40"]
[0.000000,"i","a\u0000\ufffdb\ufffd\ufffd"]
[3598.000000,"x","0"]
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The intervals of a recording add up: no interval is rounded by itself.
func TestIntervals(t *testing.T) {
	var all []Event
	for i := range 10000 {
		all = append(all, Event{time.Duration(i) * 1666667 * time.Nanosecond, Output, "x"})
	}
	_, got, err := read(strings.NewReader(written(t, head, all)))
	if !errors.Is(err, io.EOF) || got[9999].At != all[9999].At.Truncate(time.Microsecond) {
		t.Errorf("%v, want %v; %v", got[9999].At, all[9999].At, err)
	}
}

const first = `{"version": 3, "term": {"cols": 80, "rows": 24}}` + "\n"

// Recordings of asciinema itself are read.
func TestRead(t *testing.T) {
	in := `{"version": 3, "term": {"cols": 80, "rows": 24, "type": "xterm", "version": "VTE(7802)", "theme": {"fg": "#d0d0d0"}}, "timestamp": 1504467315,` +
		` "idle_time_limit": 1.5, "command": "bash", "title": "Demo", "env": {"SHELL": "/bin/zsh"}, "tags": ["a"]}` + "\n# a comment\n" +
		"[0.248, \"o\", \"\\u001b[1mHi \\ud83d\\ude00\\n\"]\n#\n[1, \"m\", \"\"]\n[2.050, \"r\", \"90x30\"]\n[1e-3, \"x\", \"130\"]\n"
	h, got, err := read(strings.NewReader(in))
	want := []Event{{ms(248), Output, "\x1b[1mHi \U0001f600\n"}, {ms(1248), Marker, ""}, {ms(3298), Resize, "90x30"}, {ms(3299), Exit, "130"}}
	if d := cmp.Diff(want, got); d != "" || !errors.Is(err, io.EOF) {
		t.Errorf("%v %s", err, d)
	}
	if h.Term.Columns != 80 || h.Title != "Demo" || h.Env["SHELL"] != "/bin/zsh" {
		t.Errorf("%+v", h)
	}
}

func TestReadErrors(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		line     int
	}{
		{"", "unexpected EOF", 1},
		{`{"version":3`, "it was cut after 12 bytes", 1},
		{"{}\n", "version 0", 1},
		{`{"version":2,"term":{"cols":80,"rows":24}}` + "\n", "version 2: it is 3", 1},
		{`{"version":3,"version":3,"term":{"cols":80,"rows":24}}` + "\n", "version", 1},
		{`{"version":3,"term":{"cols":0,"rows":24}}` + "\n", "0x24 is no size", 1},
		{`{"version":3,"width":80}` + "\n", "width", 1},
		{"# comment\n" + first, "1:1", 1},
		{first + "\n", "1:1", 2},
		{first + "[0,\"o\",\"a\"]\n[0,\"o\"]\n", "[interval, code, data]", 3},
		{first + "#\n#\n[0,\"o\",\"a\",1]\n", "[interval, code, data]", 4},
		{first + "[-1,\"o\",\"a\"]\n", "interval -1", 2},
		{first + "[1e99,\"o\",\"a\"]\n", "interval 1e+99", 2},
		{first + "[1e9,\"o\",\"a\"]\n[1e9,\"o\",\"a\"]\n", "longer than 1073741824 s", 3},
		{first + "[\"0\",\"o\",\"a\"]\n", "1:1", 2},
		{first + "[0,\"z\",\"a\"]\n", `the code "z"`, 2},
		{first + "[0,\"O\",\"a\"]\n", `the code "O"`, 2},
		{first + "[0,\"r\",\"0x9\"]\n", `"0x9" is not`, 2},
		{first + "[0,\"x\",\"\"]\n", `"" is not`, 2},
		{first + "[0,\"m\",\"a\\nb\"]\n", "one line", 2},
		{first + "[0,\"o\",\"\xff\"]\n", "1:", 2},
		{first + "[0,\"o\",\"\\ud800\"]\n", "1:", 2},
		{first + "[0,\"o\",null]\n", "1:", 2},
		{first + "[0,\"o\",\"a\"]\n[0,\"o", "it was cut after 5 bytes", 3},
		{first + "[0,\"o\",\"a\"]", "it was cut after 11 bytes", 2},
		{first + strings.Repeat("x", maxLine+2), "longer than", 2},
	} {
		_, all, err := read(strings.NewReader(tt.in))
		fault := new(lineError)
		if !errors.As(err, &fault) || fault.Line != tt.line || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80q: %v, want line %d: %s", tt.in, err, tt.line, tt.want)
		}
		if cut := strings.Contains(tt.want, "cut"); cut != errors.Is(err, io.ErrUnexpectedEOF) && tt.in != "" {
			t.Errorf("%.80q: %v", tt.in, err)
		}
		if len(all) > 1 {
			t.Errorf("%.80q: %v", tt.in, all)
		}
	}
}

// What cannot be read is not written.
func TestWriteErrors(t *testing.T) {
	if _, err := NewWriter(io.Discard, Header{}); err == nil {
		t.Error("a terminal without a size")
	}
	w, err := NewWriter(io.Discard, head)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Event{{0, "", "x"}, {0, "z", "x"}, {0, Marker, "a\nb"}, {0, Resize, "x"}, {0, Exit, "x"}} {
		if w.Write(e) == nil {
			t.Errorf("%+v", e)
		}
	}
}

// What is read is written as it was read, whatever it is.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{first, first + "[0.1,\"o\",\"\\u001b[1m\u20ac\"]\n#\n[1,\"m\",\"a\"]\n[2,\"r\",\"1x1\"]\n[1e-7,\"x\",\"-1\"]\n[0,\"i\",\"a", first + "[0,\"o\",\"\xe2\x82\"]\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		h, all, err := read(bytes.NewReader(in))
		if fault := new(lineError); !errors.Is(err, io.EOF) && (!errors.As(err, &fault) || fault.Line < 1 || fault.Line > bytes.Count(in, []byte("\n"))+1) {
			t.Fatalf("%q: %v", in, err)
		}
		if h.Version == 0 {
			return
		}
		_, again, err := read(strings.NewReader(written(t, h, all)))
		if d := cmp.Diff(all, again); d != "" || !errors.Is(err, io.EOF) {
			t.Fatalf("%q: %v %s", in, err, d)
		}
	})
}

func Example() {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Term: Term{Columns: 80, Rows: 24}})
	if err != nil {
		panic(err)
	}
	w.Write(Event{0, Output, "$ make"})
	w.Write(Event{time.Second, Marker, "it fails"})
	r, err := NewReader(&out)
	for err == nil {
		var e Event
		if e, err = r.Next(); err == nil {
			fmt.Println(e.At, e.Code, e.Data)
		}
	}
	// Output:
	// 0s o $ make
	// 1s m it fails
}
