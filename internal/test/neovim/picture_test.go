//go:build nvim

package neovim

import (
	"os/exec"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/test/picture"
	"github.com/agent-wrapper/agent-wrapper/internal/test/screen"
)

// scheme are the colours of the picture: those that Neovim begins with differ from release
// to release, and in some of them a float is magenta.
const scheme = `
highlight clear
highlight Normal ctermfg=NONE ctermbg=NONE
highlight NormalFloat ctermfg=NONE ctermbg=NONE
highlight FloatBorder ctermfg=8 ctermbg=NONE
highlight VertSplit cterm=NONE ctermfg=8 ctermbg=NONE
highlight! link WinSeparator VertSplit
highlight StatusLine cterm=bold ctermfg=NONE ctermbg=8
highlight StatusLineNC cterm=NONE ctermfg=NONE ctermbg=8
highlight Title cterm=bold ctermfg=6
highlight WarningMsg cterm=bold ctermfg=3
highlight Comment ctermfg=8
highlight NonText ctermfg=8
highlight EndOfBuffer ctermfg=8
highlight DiffAdd cterm=NONE ctermfg=2 ctermbg=NONE
highlight DiffDelete cterm=bold ctermfg=1 ctermbg=NONE
syntax off
`

// TestPicture draws docs/pictures/neovim.svg, the same with every Neovim.
func TestPicture(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		p := sit(t, r, turns{}, "")
		p.write("proj/agent-wrapper.toml", "ask = [\"Bash(git push:*)\"]\n")
		trust := exec.Command(built+"/agent-wrapper", "trust", "--yes", "agent-wrapper.toml")
		trust.Dir, trust.Env = p.Work, p.env
		if out, err := trust.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		p.write("script.json", marshal(turns{"fix the price": {
			{Say: "The price is right now. I publish it."},
			{Tool: "Bash", Input: object{"command": "cd web && git push origin main"}},
		}}))
		p.write("proj/price.go", "package shop\n\n// price is that of n kettles, in cents.\nfunc price(n int) int { return n * 100 }\n")
		p.Call("nvim_exec", scheme, false)
		p.Type(":edit price.go<CR>:AgentWrapper fix the price<CR>")
		p.See("answer with")
		p.answer()
		p.Wait("a key that counts", armed)
		rows := p.drawn()
		if alone := picture.ColourAlone(rows); alone != nil {
			t.Errorf("only the colour says what these are: %q", alone)
		}
		svg, err := picture.SVG("A question in Neovim",
			"The question of agent-wrapper about cd web && git push origin main, in a window above the code: the command, the rule that asks, and the keys that answer.", 80, rows)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "../../../docs/pictures/neovim.svg", svg)
	})
}

// drawn returns the cells of the screen, with what differs from run to run as goldens have
// it.
func (p *person) drawn() [][]screen.Cell {
	p.mu.Lock()
	defer p.mu.Unlock()
	var rows [][]screen.Cell
	for _, cells := range p.screen.cells {
		text := ""
		for _, c := range cells {
			text += c.Text
		}
		steady := []rune(p.picture(text))
		row := append([]screen.Cell{}, cells...)
		for i := range row {
			row[i].Text = string(steady[i])
		}
		rows = append(rows, row)
	}
	return rows
}
