package picture

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

func TestSVG(t *testing.T) {
	svg := SVG("a & b", "ALLOW  Bash  echo <hi> && ls\n\nDENY   Bash  rm\n       guard: \"no\"\nplain\n")
	d := xml.NewDecoder(strings.NewReader(svg))
	var text strings.Builder
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if chars, ok := token.(xml.CharData); ok {
			text.Write(chars)
		}
	}
	for _, want := range []string{"a & b", "ALLOW  Bash  echo <hi> && ls\n", "DENY   Bash  rm\n", `       guard: "no"`, "plain"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in the picture:\n%s", want, svg)
		}
	}
	if !strings.Contains(svg, `width="256" height="122"`) {
		t.Errorf("the size is wrong: %.120s", svg)
	}
	if SVG("a & b", "x") != SVG("a & b", "x\n") {
		t.Error("the same text gives two pictures")
	}
}
