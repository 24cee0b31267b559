package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// settings answers a change of the host's settings while it runs. A file that cannot be
// read is not taken: hosts ignore all of a file with an error in it, our hook included.
func (s *session) settings(e *Event) Verdict {
	switch {
	case s.host.Loosens == nil:
		return passes
	case e.File == "":
		return refuses("a change of settings does not count: the payload does not say of which file")
	}
	data, err := os.ReadFile(e.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refuses(fmt.Sprintf("%s cannot be read: %v", e.File, err))
	}
	if why := s.host.Loosens(e, s.fixed.Workspace, s.Place.Home, data); why != "" {
		return refuses(fmt.Sprintf("the change of %s does not count: %s", e.File, why))
	}
	return passes
}

// expansion decides a command that the person has typed, by the command lines that it
// runs before the model sees it. The agent, or its repository, may have written them.
func (s *session) expansion(ctx context.Context, e *Event) (Verdict, error) {
	if s.host.Inline == nil {
		return passes, nil
	}
	lines, err := s.host.Inline(e, s.fixed.Workspace, s.Place.Home)
	if err != nil {
		return Verdict{}, err
	}
	for _, line := range lines {
		input, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			return Verdict{}, err
		}
		use := permission.ToolUse{Tool: tools.Bash, Input: input, Dir: e.Use.Dir, Session: s.id, Dialect: e.Use.Dialect, OwnShell: e.Use.OwnShell}
		res, err := (&asking{session: s}).decide(ctx, use)
		if err != nil {
			return Verdict{}, err
		}
		if !runsAs(&res, input) {
			return refuses(fmt.Sprintf("/%s runs %q before the model sees it: %s", e.Command, line, res.Reason)), nil
		}
	}
	return passes, nil
}
