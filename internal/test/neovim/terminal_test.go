//go:build nvim

package neovim

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/screen"
)

// pieces are what programs write to a terminal. Neovim takes each line feed for CR and LF.
var pieces = []string{
	"word", " ", "  ", "a line\r\n", "\r\n", "\r\n", "\r", "\t", "\b", "│ ", "…", "e\u0301", "\a",
	"exactly as wide as a screen of forty col", "longer than a row of the screen, which goes on in the next one", strings.Repeat("x\r\n", 9),
	"\x1b[1;33m", "\x1b[0m", "\x1b[31m", "\x1b[2m", "\x1b[7m", "\x1b[m",
	"\x1b[A", "\x1b[3A", "\x1b[99A", "\x1b[B", "\x1b[2B", "\x1b[C", "\x1b[5C", "\x1b[99C", "\x1b[D", "\x1b[4D", "\x1b[G", "\x1b[7G", "\x1b[H", "\x1b[3;5H",
	"\x1b[J", "\r\x1b[J", "\x1b[1J", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b]0;title\a", "\x1b]133;D;0\x1b\\", "\x1b[?2004h", "\x1b[?25l",
}

// TestScreen: the terminal of the tests shows what that of Neovim, libvterm, shows.
func TestScreen(t *testing.T) {
	each(t, func(t *testing.T, r Release) {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		n := r.Start(t, Options{Args: []string{"--clean"}, Env: []string{"HOME=" + t.TempDir(), "LANG=C.UTF-8"}, Width: 40, Height: 12})
		height := n.Call("nvim_win_get_height", 0).(int)
		for range 300 {
			var written []string
			for range random.IntN(40) {
				written = append(written, pieces[random.IntN(len(pieces))])
			}
			if _, same := n.compare(height, written); same {
				continue
			}
			for i := 0; i < len(written); { // what matters of it
				fewer := slices.Delete(slices.Clone(written), i, i+1)
				if _, same := n.compare(height, fewer); same {
					i++
				} else {
					written = fewer
				}
			}
			difference, _ := n.compare(height, written)
			t.Fatalf("seed %d: %q\n%s", seed, written, difference)
		}
	})
}

// compare has both terminals show what was written, and says how they differ.
func (n *Nvim) compare(height int, pieces []string) (difference string, same bool) {
	n.t.Helper()
	written := strings.Join(pieces, "")
	s := screen.New(40, height)
	io.WriteString(s, written)
	if unknown := s.Unknown(); len(unknown) > 0 {
		n.t.Fatalf("unknown: %q", unknown)
	}
	got := screen.Text(s.From(0))
	shown := n.Lua(`
		local written, expected = ...
		local buf = vim.api.nvim_create_buf(false, true)
		vim.api.nvim_win_set_buf(0, buf)
		vim.api.nvim_chan_send(vim.api.nvim_open_term(buf, {}), written)
		local shown
		vim.wait(500, function() -- it is drawn a little later
			shown = table.concat(vim.tbl_map(function(line)
				return (line:gsub(" +$", ""))
			end, vim.api.nvim_buf_get_lines(buf, 0, -1, false)), "\n"):gsub("\n+$", "") .. "\n"
			return shown == expected
		end, 5)
		vim.cmd("bwipeout! " .. buf)
		return shown`, written, got)
	return fmt.Sprintf("shows\n%s\nand in Neovim\n%s", got, shown), got == shown
}
