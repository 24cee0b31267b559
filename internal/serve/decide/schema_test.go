package decide_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/protocol"
)

var schema = sync.OnceValues(protocol.Read)

// TestMain runs the tests, and then checks that they have seen every field of the
// schema, if all of them ran.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if run := flag.Lookup("test.run").Value.String(); code == 0 && run == "" && flag.Lookup("test.fuzz").Value.String() == "" {
		s, err := schema()
		if err != nil {
			fmt.Println(err)
			code = 1
		}
		for _, def := range []string{"decideClient", "decideServer"} {
			for _, field := range s.Unseen(def) {
				fmt.Printf("schemas/protocol.schema.json: no test sees %s\n", field)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// conforms checks that a line of the server is as the schema has it.
func (c *client) conforms(text string) {
	c.Helper()
	s, err := schema()
	if err != nil {
		c.Fatal(err)
	}
	if err := s.Check("decideServer", []byte(text)); err != nil {
		c.Errorf("%.2000s: %v", text, err)
	}
}

// asked notes the fields of a line of the client. A line that is wrong on purpose is
// none of the schema's.
func (c *client) asked(text string) {
	if s, err := schema(); err == nil && json.Valid([]byte(text)) && strings.HasPrefix(text, "{") {
		_ = s.Check("decideClient", []byte(text))
	}
}
