package briefing

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// toRead is the tool use of reading a file.
func (r *Reader) toRead(name string) permission.ToolUse {
	input, _ := json.Marshal(map[string]string{"file_path": name}) // cannot fail
	return permission.ToolUse{Tool: "Read", Input: input, Dir: r.Dir}
}

// denied returns why the rules deny to read a file, nil if they do not. The files that an
// agent CLI reads by itself need no rule: that the program was started here, without
// --bare, is the person's word for them.
func (r *Reader) denied(name string) error {
	if d := r.Explain(r.toRead(name)); d.Behavior != permission.Allow && d.Behavior != permission.Ask {
		return errors.New(d.Reason)
	}
	return nil
}

// unasked returns why the rules do not let a file be read without a question, nil if they
// do. Nobody is asked about what a repository names by itself.
func (r *Reader) unasked(name string) error {
	if d := r.Explain(r.toRead(name)); d.Behavior != permission.Allow {
		return errors.New(d.Reason)
	}
	return nil
}

// decided has a tool use decided that comes of a prompt, and returns it with the input
// with which it is to run. The error says why it must not.
func (r *Reader) decided(ctx context.Context, use permission.ToolUse) (permission.ToolUse, error) {
	use.ID = "prompt_" + rand.Text()
	res, err := r.Decide(ctx, use)
	if err == nil && res.By == permission.ByAdvice { // it is for an agent; the next answer is a person's
		use.ID = "prompt_" + rand.Text()
		res, err = r.Decide(ctx, use)
	}
	switch {
	case err != nil:
		return use, err
	case res.Behavior != permission.Allow:
		return use, errors.New(res.Reason)
	}
	use.Input = res.UpdatedInput
	return use, nil
}

// mayRead has the reading of a file that a person names decided.
func (r *Reader) mayRead(ctx context.Context, name string) (permission.ToolUse, error) {
	use, err := r.decided(ctx, r.toRead(name))
	if err != nil {
		return use, err
	}
	if path, err := field(use.Input, "file_path"); err != nil || path != name {
		return use, fmt.Errorf("the answer is about another file, %s: name that one", path)
	}
	return use, nil
}

// run has a command line decided and run, and returns what it wrote.
func (r *Reader) run(ctx context.Context, line string) (string, error) {
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return "", err
	}
	use, err := r.decided(ctx, permission.ToolUse{Tool: tools.Bash, Input: input, Dir: r.Dir})
	if err != nil {
		return "", err
	}
	if line, err = field(use.Input, "command"); err != nil { // a person may have edited it
		return "", err
	}
	out, exit, err := r.Run(ctx, line)
	if err == nil && exit != 0 {
		err = fmt.Errorf("it failed with exit code %d: %s", exit, strings.TrimSpace(out))
	}
	r.Ended(use, out, &exit, err != nil)
	return out, err
}

// field returns a field of a tool's input.
func field(input json.RawMessage, name string) (string, error) {
	var members map[string]json.RawMessage
	var text string
	if err := json.Unmarshal(input, &members); err != nil {
		return "", err
	}
	if err := json.Unmarshal(members[name], &text); err != nil {
		return "", fmt.Errorf("the answer has no %s: %w", name, err)
	}
	return text, nil
}
