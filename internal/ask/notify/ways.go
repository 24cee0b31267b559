package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/webhook"
	"github.com/agent-wrapper/agent-wrapper/internal/run/execution"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
)

// way is a way to tell a person. how is how it was done, in words.
type way struct {
	name string // the key of [notify]
	tell func(ctx context.Context, x *notice, terminal func(string)) (how string, err error)
}

// limit is how long a way may take.
const limit = webhook.Limit

// given returns the ways that are switched on.
func (n *Notifier) given() []way {
	var ways []way
	if n.o.Bell {
		ways = append(ways, way{"bell", bell})
	}
	if n.o.Desktop {
		ways = append(ways, way{"desktop", n.desktop})
	}
	if len(n.o.Command) > 0 {
		ways = append(ways, way{"command", n.command})
	}
	if n.o.Webhook != "" {
		ways = append(ways, way{"webhook", n.post})
	}
	return ways
}

// bell rings the bell of the terminal. Where none asks, nobody could hear it.
func bell(_ context.Context, _ *notice, terminal func(string)) (string, error) {
	if terminal == nil {
		return "no terminal asks here, so none rings", nil
	}
	terminal("\a")
	return "the terminal was rung", nil
}

// desktop shows a notification by the program of the system or, where there is none, by
// the terminal, which has to know OSC 9. Through SSH the desktop is the terminal's.
func (n *Notifier) desktop(ctx context.Context, x *notice, terminal func(string)) (string, error) {
	err := errors.New("this session is a remote one")
	if os.Getenv("SSH_CONNECTION") == "" {
		argv := notifier(runtime.GOOS, x)
		if argv == nil {
			err = errors.New("no program for that is known on this system")
		} else if err = n.run(ctx, argv, nil); err == nil {
			return "shown by " + argv[0], nil
		}
	}
	if terminal == nil || slices.Contains([]string{"", "dumb", "linux"}, os.Getenv("TERM")) {
		return "", fmt.Errorf("%w, and there is no terminal that could show it", err)
	}
	terminal("\x1b]9;" + x.Text + "\a")
	return fmt.Sprintf("the terminal was asked to show it, which not every one can (%v)", err), nil
}

// notifier returns the command that shows a notification on a system. What the agent has
// written is never an option, nor markup.
func notifier(system string, x *notice) []string {
	switch system {
	case "linux", "freebsd":
		return []string{"notify-send", "--app-name=agent-wrapper", "--", x.Title, markup.Replace(x.body())}
	case "darwin":
		return []string{
			"osascript", "-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", x.Title, x.body(),
		}
	}
	return nil
}

// markup makes plain text of what a desktop would read as markup.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// command runs the program with the notice as its input.
func (n *Notifier) command(ctx context.Context, x *notice, _ func(string)) (string, error) {
	body, err := json.Marshal(x)
	if err != nil {
		return "", err
	}
	return n.o.Command[0] + " was run", n.run(ctx, n.o.Command, body)
}

// run runs a program. It runs in the home directory, since what lies in a workspace may
// be an agent's, with the environment that exec gives a command.
func (n *Notifier) run(ctx context.Context, argv []string, stdin []byte) error {
	env, _, err := execution.Environ(os.Environ(), nil)
	if err != nil {
		return err
	}
	env = append(env, "PATH="+n.o.Path)
	dir, err := os.UserHomeDir()
	if err != nil {
		dir = string(os.PathSeparator)
	}
	c := &process.Command{Args: argv, Dir: dir, Env: env, Stdin: bytes.NewReader(stdin), Limit: limit, Grace: time.Second}
	res, err := c.Run(ctx)
	var not *process.NotStarted
	switch {
	case errors.As(err, &not):
		return fmt.Errorf("%s cannot be started: it is not on PATH, or may not be run", argv[0])
	case err != nil:
		return fmt.Errorf("%s failed", argv[0])
	case res.TimedOut || res.Cancelled:
		return fmt.Errorf("%s took longer than %v and was ended", argv[0], limit)
	case res.Exit != 0:
		return fmt.Errorf("%s ended with exit code %d", argv[0], res.Exit)
	}
	return nil
}

// post sends the notice to the webhook.
func (n *Notifier) post(ctx context.Context, x *notice, _ func(string)) (string, error) {
	body, err := json.Marshal(x)
	if err != nil {
		return "", err
	}
	return "the webhook took it", webhook.Post(ctx, nil, n.o.Webhook, body)
}
