package install

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"
)

// trustTime is how long codex may take to answer.
const trustTime = 60 * time.Second

// errNotTrusted is the error of Trust if codex does not run the hook yet, with what to
// do.
var errNotTrusted = errors.New("codex does not run the hook before you trust it: start codex once, and answer \"Hooks need review\" with 2, Trust all and continue")

// Trust has codex trust the hook in the user's configuration, which it skips without a
// word until then. Its own server is asked to: what it computes over the hook is its
// affair. done reports whether something had to be done; other hosts need nothing.
func (p *Plan) Trust(ctx context.Context) (done bool, err error) {
	if p.Host != "codex" || p.Scope != User || p.removes {
		return false, nil
	}
	program := p.m.program(p.host.program)
	if program == "" {
		return false, fmt.Errorf("%w (there is no program codex on PATH to do it now)", errNotTrusted)
	}
	ctx, cancel := context.WithTimeout(ctx, trustTime)
	defer cancel()
	start := p.m.Codex
	if start == nil {
		start = startCodex
	}
	stdio, err := start(ctx, program)
	if err != nil {
		return false, fmt.Errorf("%w (%w)", errNotTrusted, err)
	}
	s := &codexServer{out: stdio, in: bufio.NewReaderSize(stdio, 1<<16), binary: p.m.Binary}
	done, err = s.trust(p.m.Home, filepath.Join(p.host.dir(p.m), "hooks.json"))
	if err = errors.Join(err, stdio.Close()); err != nil {
		return false, fmt.Errorf("%w (codex app-server: %w)", errNotTrusted, err)
	}
	return done, nil
}

// codexServer is a conversation with "codex app-server": JSON lines, without the key
// jsonrpc.
type codexServer struct {
	out    io.Writer
	in     *bufio.Reader
	id     int
	binary string
}

// codexHook is a hook as hooks/list shows it.
type codexHook struct {
	Key         string `json:"key"`
	EventName   string `json:"eventName"`
	Command     string `json:"command"`
	SourcePath  string `json:"sourcePath"`
	CurrentHash string `json:"currentHash"`
	TrustStatus string `json:"trustStatus"`
}

// trust trusts the hooks of ours in a file.
func (s *codexServer) trust(home, file string) (done bool, err error) {
	var ready struct{}
	if err := s.call("initialize", map[string]any{
		"clientInfo":   map[string]any{"name": "agent-wrapper", "title": "agent-wrapper", "version": "1"},
		"capabilities": map[string]any{"experimentalApi": true},
	}, &ready); err != nil {
		return false, err
	}
	if err := s.send(map[string]any{"method": "initialized"}); err != nil {
		return false, err
	}
	waiting, err := s.waiting(home, file)
	if len(waiting) == 0 || err != nil {
		return false, err
	}
	if err := s.accept(waiting); err != nil {
		return false, err
	}
	if waiting, err = s.waiting(home, file); len(waiting) > 0 && err == nil {
		err = errors.New("the hook is not trusted although codex was asked to")
	}
	return err == nil, err
}

// waiting returns the hooks of ours that are not trusted; if none is listed at all, that
// is an error.
func (s *codexServer) waiting(home, file string) (hooks []codexHook, err error) {
	var list struct {
		Data []struct {
			Hooks []codexHook `json:"hooks"`
		} `json:"data"`
	}
	if err := s.call("hooks/list", map[string]any{"cwds": []string{home}}, &list); err != nil {
		return nil, err
	}
	ours := 0
	for _, d := range list.Data {
		for _, h := range d.Hooks {
			binary, ok := oursIn(h.Command, "codex")
			if !ok || binary != s.binary || h.SourcePath != "" && !sameFile(h.SourcePath, file) {
				continue
			}
			ours++
			if h.TrustStatus != "trusted" && h.TrustStatus != "managed" {
				hooks = append(hooks, h)
			}
		}
	}
	if ours == 0 {
		return nil, errors.New("codex does not list the hook: is " + file + " the file that it reads?")
	}
	return hooks, nil
}

// sameFile reports whether two paths lead to the same file.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	realA, errA := filepath.EvalSymlinks(a)
	realB, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && realA == realB
}

// accept stores the hashes that codex itself has computed.
func (s *codexServer) accept(hooks []codexHook) error {
	value := map[string]any{}
	for _, h := range hooks {
		if h.Key == "" || h.CurrentHash == "" {
			return errors.New("codex shows a hook without key and hash")
		}
		value[h.Key] = map[string]any{"trusted_hash": h.CurrentHash}
	}
	var result struct {
		Status string `json:"status"`
	}
	err := s.call("config/batchWrite", map[string]any{
		"edits":            []any{map[string]any{"keyPath": "hooks.state", "value": value, "mergeStrategy": "upsert"}},
		"reloadUserConfig": true,
	}, &result)
	if err == nil && result.Status != "ok" {
		err = fmt.Errorf("codex did not store the trust: its status is %q", result.Status)
	}
	return err
}

func (s *codexServer) send(v any) error {
	_, err := s.out.Write(append(encode(v), '\n'))
	return err
}

// maxAnswer is the length of the longest line that is read, and maxOther the number of
// lines that are skipped before an answer.
const (
	maxAnswer = 8 << 20
	maxOther  = 10_000
)

// call sends a request and decodes its result; notifications in between are skipped.
func (s *codexServer) call(method string, params, result any) error {
	s.id++
	if err := s.send(map[string]any{"id": s.id, "method": method, "params": params}); err != nil {
		return err
	}
	for range maxOther {
		line, err := s.line()
		if err != nil {
			return fmt.Errorf("%s: there was no answer: %w", method, err)
		}
		var answer struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal(line, &answer) != nil || answer.ID == nil || *answer.ID != s.id {
			continue
		}
		if answer.Error != nil {
			return fmt.Errorf("%s: %s", method, answer.Error)
		}
		return json.Unmarshal(answer.Result, result)
	}
	return fmt.Errorf("%s: there was no answer", method)
}

// line reads a line.
func (s *codexServer) line() (line []byte, err error) {
	for {
		part, more, err := s.in.ReadLine()
		if line = append(line, part...); err != nil || !more {
			return line, err
		}
		if len(line) > maxAnswer {
			return nil, errors.New("the answer is too long")
		}
	}
}

// process is a program that was started, as its standard input and output.
type process struct {
	io.ReadCloser
	in  io.WriteCloser
	cmd *exec.Cmd
}

func (p *process) Write(data []byte) (int, error) { return p.in.Write(data) }

// Close ends the program. How it ends does not matter: it has answered.
func (p *process) Close() error {
	p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	return nil
}

func startCodex(ctx context.Context, program string) (io.ReadWriteCloser, error) {
	cmd := exec.CommandContext(ctx, program, "app-server")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{out, in, cmd}, nil
}
