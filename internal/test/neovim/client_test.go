//go:build nvim

package neovim

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

// chatName is the name of a chat file.
var chatName = regexp.MustCompile(`\d{8}-\d{6}`)

// picture returns a screen as a golden has it.
func (p *person) picture(screen string) string {
	screen = strings.ReplaceAll(screen, p.Dir, shownHome)
	// The status line begins in the middle of a path.
	screen = regexp.MustCompile(`<[^ ]*/chats/`).ReplaceAllStringFunc(screen, func(cut string) string {
		return "<" + strings.Repeat("…", strings.Count(cut, "")-len("/chats/")-2) + "/chats/"
	})
	return chatName.ReplaceAllString(screen, "20260301-120000")
}

// TestScreens: what a person sees on 80x24. The goldens stand in docs/editors.md.
func TestScreens(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{}, "ask = [\"Bash(npm install:*)\", \"Edit\"]\n")
		path, open := p.gate("gate")
		p.write("script.json", marshal(turns{"fix the failing test": {
			{Say: "I run the tests first."},
			{Tool: "Bash", Input: object{"command": "git status --short"}, Result: " M kettle.go"},
			{Tool: "Bash", Input: object{"command": "cd web && npm install left-pad && npm test"}, Result: "added 1 package\n1 test passed"},
			{Gate: path},
			{Tool: "Edit", Input: object{"file_path": p.Work + "/kettle.go", "old_string": "boil = 100", "new_string": "boil = 96"}, Result: "edited"},
			{Say: "The test passes now."},
		}}))
		p.write("proj/kettle.go", "package kettle\n\nconst boil = 100\n")
		p.Type(":edit kettle.go<CR>:AgentWrapper fix the failing test<CR>")
		p.See("answer with")
		shown := []string{"the question, while you are elsewhere", p.See("answer with")}
		p.answer()
		shown = append(shown, "in the question", p.Wait("a key that counts", armed))
		p.press("t")
		shown = append(shown, "the rules that may be kept for a while", p.Wait("a key that counts", armed))
		p.press("<Esc>")
		p.press("2")
		p.Unsee("┌")
		open()
		p.See("answer with")
		shown = append(shown, "an edit, while you are elsewhere", p.See("+| const boil = 96"))
		p.answer()
		shown = append(shown, "in it", p.Wait("a key that counts", armed))
		p.press("o")
		p.See("passes now")
		p.Unsee("┌")
		p.Type("<C-w>j")
		shown = append(shown, "afterwards", p.Wait("the end of the turn", func(screen string) bool {
			return !strings.Contains(screen, "…  ") && strings.Contains(screen, "## You\n") && !strings.Contains(screen, "[+]")
		}))
		var out strings.Builder
		for i := 0; i < len(shown); i += 2 {
			fmt.Fprintf(&out, "== %s\n\n%s", shown[i], p.picture(shown[i+1]))
		}
		golden.Check(t, "testdata/screens.txt", out.String())
	})
}

// TestChanges: a file that the agent changed is read again; one with unsaved changes is
// not, and the person is told.
func TestChanges(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{}, "allow = [\"Write\"]\n")
		a, b := p.Work+"/a.txt", p.Work+"/b.txt"
		p.write(a, "one\n")
		p.write(b, "one\n")
		p.write("script.json", marshal(turns{"go": {
			{Tool: "Write", Input: object{"file_path": a, "content": "two\n"}, Files: map[string]string{a: "two\n"}},
			{Tool: "Write", Input: object{"file_path": b, "content": "two\n"}, Files: map[string]string{b: "two\n"}},
		}}))
		p.Type(":edit a.txt<CR>:split b.txt<CR>cchalf a sent<Esc>:AgentWrapper go<CR>")
		p.See("b.txt was changed on disk")
		p.until("a.txt", func() bool { return p.Lua("return vim.fn.getbufline('a.txt', 1)[1]") == "two" })
		if text := p.Lua("return vim.fn.getbufline('b.txt', 1)[1]"); text != "half a sent" {
			t.Errorf("b.txt is now %q", text)
		}
		if p.Lua("return vim.fn.getbufvar('b.txt', '&modified')") != 1 {
			t.Error("b.txt counts as saved")
		}
	})
}

// TestUnsavedIsSaid: who is asked about an edit is told of what is not saved.
func TestUnsavedIsSaid(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{}, asking)
		p.write("proj/a.txt", "one\n")
		p.write("script.json", marshal(turns{"go": {{Tool: "Write", Input: object{"file_path": p.Work + "/a.txt", "content": "two\n"}}}}))
		p.Type(":edit a.txt<CR>ccmine<Esc>:AgentWrapper go<CR>")
		p.See("you have unsaved changes in this file")
	})
}

// TestBurst: 10,000 events come in order, and Neovim answers while they do.
func TestBurst(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{"go": {{Talk: 10_000}, {Say: "That was all."}}}, asking)
		p.write("proj/notes.txt", "")
		p.Lua(`
			slowest, last = 0, vim.loop.hrtime()
			local timer = vim.loop.new_timer()
			timer:start(5, 5, vim.schedule_wrap(function()
				local now = vim.loop.hrtime()
				slowest, last = math.max(slowest, (now - last) / 1e6), now
			end))`)
		p.Type(":edit notes.txt<CR>:AgentWrapper go<CR>i")
		for i := range 40 {
			p.Type(string(rune('a' + i%26)))
		}
		p.until("the end", func() bool {
			return p.Lua("return vim.fn.getbufline(require('agent-wrapper.state').last.buf, 10014)[1]") != nil && p.Lua("return require('agent-wrapper').statusline()") == ""
		})
		if text := p.Lua("return vim.fn.getline(1)"); len(text.(string)) != 40 {
			t.Errorf("typed meanwhile: %q", text)
		}
		wrong := p.Lua(`
			local n = 0
			for _, line in ipairs(vim.fn.getbufline(require('agent-wrapper.state').last.buf, 1, '$')) do
				local at = line:match("^piece (%d+)$")
				if at then
					n = n + 1
					if tonumber(at) ~= n then return line end
				end
			end
			return n`)
		if wrong != 10_000 {
			t.Errorf("the pieces end at %v", wrong)
		}
		t.Logf("the longest that Neovim did not answer: %v ms", p.Lua("return math.floor(slowest)"))
		if slowest := p.Lua("return math.floor(slowest)").(int); slowest > 10_000 {
			t.Errorf("Neovim hung for %d ms", slowest)
		}
	})
}

// TestBackPressure: what Neovim cannot take yet is not read.
func TestBackPressure(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{"go": {{Talk: 20_000}, {Say: "That was all."}}}, asking)
		p.Lua(`
			local Chat = require("agent-wrapper.chat")
			most = 0
			local on = getmetatable(Chat).__index.on
			local chunk = on.chunk
			on.chunk = function(self, e) -- each takes 0.2 ms
				most = math.max(most, self.client.last - self.client.first)
				local till = vim.loop.hrtime() + 2e5
				repeat until vim.loop.hrtime() > till
				chunk(self, e)
			end`)
		p.Type(":AgentWrapper go<CR>")
		p.See("That was all.")
		if most := p.Lua("return most").(int); most > 8000 {
			t.Errorf("%d lines waited", most)
		}
	})
}

// TestResume: a chat that is opened again goes on with its session, and with what was
// kept for it.
func TestResume(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{"one": {bash("npm i x")}, "two": {bash("npm i x"), {Say: "Again."}}}, asking)
		p.Type(":AgentWrapper one<CR>")
		p.See("answer with")
		p.answer()
		p.press("s")
		p.decisions(1)
		p.until("the end", func() bool { return p.Lua("return require('agent-wrapper').statusline()") == "" })
		p.Type(":qall<CR>")
		p.until("the end of Neovim", func() bool { _, err := p.Try("nvim_get_mode"); return err != nil })
		p.start()
		p.Type(":AgentWrapper open<CR>")
		p.See("one")
		p.Type("1<CR>")
		p.See("## You")
		p.Type("Gotwo<Esc><CR>")
		p.See("Again.")
		all := p.decisions(2)
		if behaviors(all) != "allow allow" || all[1].Layer != "session-allow" {
			t.Errorf("decided: %+v", all)
		}
	})
}

// TestTurns: the next prompt is the next turn of the same process, also while one runs;
// stop ends one, and the chat goes on.
func TestTurns(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{}, asking)
		path, open := p.gate("gate")
		p.write("script.json", marshal(turns{"one": {{Gate: path}, {Say: "First."}}, "three": {bash("npm i x")}}))
		p.Type(":AgentWrapper one<CR>:AgentWrapper two<CR>")
		p.until("two prompts", func() bool { return p.Lua("return vim.fn.search('^two$', 'nw')") != 0 })
		open()
		p.See("You said: two")
		p.until("the end", func() bool { return p.Lua("return require('agent-wrapper').statusline()") == "" })
		p.Type(":AgentWrapper three<CR>")
		p.See("answer with")
		p.Type(":AgentWrapper stop<CR>")
		p.Unsee("? Bash")
		if all := p.decisions(1); behaviors(all) != "deny" {
			t.Errorf("decided: %+v", all)
		}
		p.Type(":AgentWrapper stop using tabs<CR>") // no command: a prompt
		p.See("You said: stop using tabs")
	})
}

// TestQuestions: what the agent asks the person is answered with digits or in words.
func TestQuestions(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{"go": {{Tool: "AskUserQuestion", Input: object{"questions": []object{
			{"question": "Which color?", "header": "Color", "multiSelect": false, "options": []object{{"label": "Red", "description": "like \u202eblood"}, {"label": "Blue", "description": "b"}}},
			{"question": "Which sizes?", "header": "Size", "multiSelect": true, "options": []object{{"label": "S", "description": "s"}, {"label": "L", "description": "l"}}},
		}}}}}, asking)
		p.Type(":AgentWrapper go<CR>")
		p.See("Which color?", "like <U+202E>blood")
		p.answer()
		p.press("2")
		p.See("Which sizes?")
		p.press("1")
		p.See("* 1")
		p.press("2")
		p.See("* 2")
		p.press("<CR>")
		p.until("the answers", func() bool {
			return p.Lua(`return vim.fn.search('"Which color?":"Blue","Which sizes?":"S, L"', 'nw')`) != 0
		})
	})
}

// TestSelect: with vim.ui.select, too, an answer that is too fast is none.
func TestSelect(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{"go": {bash("npm i x")}}, asking, `ui = "select"`)
		p.Type(":AgentWrapper go<CR>")
		p.until("the question", func() bool { return p.Lua("return require('agent-wrapper').waiting()") == 1 })
		p.Type(":AgentWrapper answer<CR>1<CR>")
		p.See("too fast")
		p.Type("<CR>")
		p.undecided()
		p.Lua(`local select = vim.ui.select
			vim.ui.select = function(items, options, done)
				vim.defer_fn(function() done(items[1], 1) end, 400)
			end`)
		p.Type(":AgentWrapper answer<CR>")
		if all := p.decisions(1); behaviors(all) != "allow" || all[0].By != "person" {
			t.Errorf("decided: %+v", all)
		}
	})
}

// TestHead: the head of a chat narrows at once, and widens once it is trusted; the
// binary says which of its settings count.
func TestHead(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{"go": {bash("npm i x")}}, "")
		p.write("proj/chat.md", "---\npermission_mode: acceptEdits\npermissions_allow: [\"Bash(npm i:*)\"]\npermissions_deny: [\"Bash(npm i x)\"]\n---\n")
		p.Type(":AgentWrapper open chat.md<CR>")
		p.See("not trusted: :AgentWrapper trust", `mode = "acceptEdits" is ignored`, "✓ applies, since it only restricts")
		p.Type("Gogo<Esc><CR>")
		if all := p.decisions(1); behaviors(all) != "deny" || all[0].Rule != "Bash(npm i x)" {
			t.Errorf("decided: %+v", all)
		}
		p.until("the end", func() bool { return p.Lua("return require('agent-wrapper').statusline()") == "" })
		p.Type(":4delete<CR>:write<CR>:AgentWrapper trust<CR>")
		p.See("Trust these settings", "allow Bash(npm i:*)")
		p.Type("2<CR>")
		p.See("✓ trusted")
		p.Type("Gogo<Esc><CR>")
		if all := p.decisions(2); behaviors(all) != "deny allow" || all[1].By == "person" {
			t.Errorf("decided: %+v", all)
		}
	})
}

// TestMode: the mode changes in the chat and in what runs.
func TestMode(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{"one": {{Say: "First."}}, "two": {bash("touch x")}}, "allow = [\"Bash(touch:*)\"]\n")
		p.Type(":AgentWrapper one<CR>")
		p.See("First.")
		p.Type(":AgentWrapper mode plan<CR>")
		p.until("the head", func() bool { return p.Lua("return vim.fn.search('^permission_mode: plan$', 'nw')") != 0 })
		p.Type(":AgentWrapper two<CR>")
		if all := p.decisions(1); behaviors(all) != "deny" || all[0].Layer != "mode" {
			t.Errorf("decided: %+v", all)
		}
	})
}

// TestOneScreen: on 80x24 a question about git push stands on one screen with the rule that
// asks and all its keys; of a long command the part that asks is in sight; a key that
// means nothing says what the keys are.
func TestOneScreen(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := asked(t, r, bash("cd web && git push origin main"), bash(strings.Repeat("echo one line\n", 40)+"git push origin dev\n"+strings.Repeat("echo one line\n", 40)))
		p.answer()
		p.See("? Bash", "moderate: sends data to a host", "| cd web && git push origin main", "asked by Bash(git push:*)", "1 more part: allowed",
			"o  once", "s  this session  Bash(git push origin main)", "t  for a while", "d  deny", "v  all", "q  later")
		for _, row := range []string{"more below", "more above"} {
			if strings.Contains(p.Screen(), row) {
				t.Errorf("%s:\n%s", row, p.Screen())
			}
		}
		p.press("<CR>")
		p.See("keys: o once, s this session, d deny, ? why, v all")
		p.undecided()
		p.press("d")
		screen := p.See("| git push origin dev", "^^^", "more above", "more below", "asked by Bash(git push:*)")
		if strings.Contains(screen, "answer with") { // it came too late to keep the focus
			p.answer()
		}
		p.press("d")
	})
}

// TestLargeQuestion: a question of 200 kB is shown whole, in time.
func TestLargeQuestion(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		content := strings.Repeat("a line of some words, and an \u00e4\n", 6000)
		p := sit(t, r, turns{}, asking)
		p.write("script.json", marshal(turns{"go": {{Tool: "Write", Input: object{"file_path": p.Work + "/a.txt", "content": content + "the last line\n"}}}}))
		p.Type(":AgentWrapper go<CR>")
		p.See("answer with", "more below")
		p.answer()
		p.Wait("a key that counts", armed)
		p.Type("G")
		p.See("+| the last line", "more above")
		p.Wait("a key that counts", armed)
		p.Type("gg")
		p.Wait("no key that counts", unarmed)
		p.See("? Write")
		p.denies()
		t.Logf("drawn in %v ms", p.Lua(`
			local f = require("agent-wrapper.question")
			local began = vim.loop.hrtime()
			f.body(...)
			return math.floor((vim.loop.hrtime() - began) / 1e6)`, object{"tool": "Write", "risk": "none", "tier": 1, "blocks": []any{
			object{"title": "content", "lines": []any{object{"segments": []any{object{"text": strings.Repeat("ä and a", 30_000)}}}}}}}, 78, []any{}, "/"))
	})
}

// TestWords: each subcommand shows what it is named for.
func TestWords(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := asked(t, r, bash("npm i x"))
		p.Type(":AgentWrapper explain<CR>")
		p.See("agent-wrapper://explain", "ask-list")
		p.Type("q:AgentWrapper rules<CR>")
		p.See("agent-wrapper://rules", "Bash(npm publish:*)")
		p.Type("q:AgentWrapper answer<CR>")
		p.press("?")
		p.See("agent-wrapper://explain")
		p.Type("q")
		p.Unsee("agent-wrapper://explain")
		p.denies()
		p.Type(":AgentWrapper audit<CR>")
		p.See("agent-wrapper://audit", "deny   Bash: npm i x")
		p.Type("q:AgentWrapper explain $ npm publish<CR>")
		p.See("agent-wrapper://explain", "deny")
		got := fmt.Sprint(p.Call("nvim_call_function", "getcompletion", []any{"AgentWrapper mode ", "cmdline"}))
		if got != "[acceptEdits default dontAsk plan]" {
			t.Errorf("completes %s", got)
		}
	})
}

// TestMissing: what is not there is named, with what to do.
func TestMissing(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{}, asking, `command = "/nowhere/agent-wrapper"`)
		p.Type(":AgentWrapper go<CR>")
		p.See("/nowhere/agent-wrapper could not be started: no such file or directory", "checkhealth agent-wrapper")
		p.Type(":checkhealth agent-wrapper<CR>")
		p.See("/nowhere/agent-wrapper is not found")
		q := sit(t, r, turns{}, asking, `args = { "--agent-command", "/nowhere/claude" }`)
		q.Type(":AgentWrapper go<CR>")
		q.See("/nowhere/claude")
		q.Type(":checkhealth agent-wrapper<CR>")
		q.See("the agent CLI /nowhere/claude is not found", "the policy loads")
	})
}

// TestStrangeLines: what is no event, comes in pieces or is no UTF-8 does no harm.
func TestStrangeLines(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{}, asking)
		p.write("strange", `#!/bin/sh
[ "$1" = run ] || exit 0
read line
printf 'no JSON\n[1]\n{"type":5}\n\n{"type":"of_tomorrow","x":{}}\n'
printf '{"type":"chunk","te'
printf 'xt":"in pieces \377\376 \\u0000 end\\r\\n"}\n'
printf '{"type":"tool_result","tool_use_id":"none","text":"x"}\n{"type":"decision"}\n{"type":"status","state":"tool_use"}\n{"type":"done"}\n'
read line
printf '{"type":"approval_required","approval_id":"1","digest":"d","question":"none"}\n'
read line
printf '%s\n' "$line" >../answer
`)
		os.Chmod(p.Dir+"/strange", 0o700)
		p.Lua("require('agent-wrapper').setup({ command = '../strange' })")
		p.Type(":AgentWrapper go<CR>")
		p.See("in pieces", "cannot read a line from agent-wrapper: no JSON")
		p.until("the end", func() bool { return p.Lua("return require('agent-wrapper').statusline()") == "" })
		p.Type(":AgentWrapper more<CR>")
		p.See("an error in the client") // a question that cannot be shown
		p.See("the run ended")
	})
}

// TestHealth: all is well.
func TestHealth(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{}, asking)
		p.write("proj/agent-wrapper.toml", "allow = [\"Bash(make)\"]\n")
		p.Type(":checkhealth agent-wrapper<CR>")
		p.See("the agent CLI is", "the policy loads", "not trusted", ":AgentWrapper trust")
		p.write("config/agent-wrapper/agent-wrapper.toml", "ask = [\n")
		p.Type(":checkhealth agent-wrapper<CR>")
		p.See("the policy does not load")
	})
}

// TestHelp: the help file has its tags.
func TestHelp(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{}, asking)
		doc, err := os.ReadFile("../../../editors/nvim/doc/agent-wrapper.txt")
		if err != nil {
			t.Fatal(err)
		}
		os.MkdirAll(p.Dir+"/config/nvim/doc", 0o700)
		p.write("config/nvim/doc/agent-wrapper.txt", string(doc))
		p.Type(":helptags ../config/nvim/doc<CR>:help agent-wrapper-options<CR>")
		p.See("agent-wrapper.txt")
		if tags, err := filepath.Glob(p.Dir + "/config/nvim/doc/tags"); err != nil || len(tags) != 1 {
			t.Error("no tags")
		}
	})
}

// TestEvents: other plugins hear of questions and decisions, and the statusline counts.
func TestEvents(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{"go": {{Tool: "Bash", Input: object{"command": "npm i x"}, Beside: []step{bash("npm i y")}}}}, asking)
		p.Lua(`heard = {}
			for _, name in ipairs({ "AgentWrapperRequest", "AgentWrapperDecided" }) do
				vim.api.nvim_create_autocmd("User", { pattern = name, callback = function() table.insert(heard, name) end })
			end`)
		p.Type(":AgentWrapper go<CR>")
		p.See("1 of 2, Tab: next")
		if words := p.Lua("return require('agent-wrapper').statusline()"); words != "agent: 2 waiting" {
			t.Errorf("statusline: %q", words)
		}
		p.answer()
		first, second := "npm i x", "npm i y" // they come in any order
		if strings.Contains(p.Screen(), "| "+second) {
			first, second = second, first
		}
		p.See("| " + first)
		p.press("<Tab>")
		p.See("| " + second)
		p.press("d") // the second first
		p.See("| " + first)
		p.press("o")
		all := p.decisions(2)
		if behaviors(all) != "deny allow" || (all[0].Use == "toolu_1") != (second == "npm i x") {
			t.Errorf("decided: %+v", all)
		}
		p.until("the events", func() bool { return p.Lua("return #heard") == 4 })
	})
}
