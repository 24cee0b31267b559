package risk

import "github.com/agent-wrapper/agent-wrapper/program"

// Rows of profile Terminal.
var (
	stopsLater = []program.Row{{Class: High, Cause: power}}
	allHigh    = []program.Row{{Class: High, Cause: services}}
)

// terminal is what profile Terminal has instead of the entries of defaults:
// the lists of seed 4, where a person sits at the terminal and may say yes to
// a restart, and where every systemctl is high.
var terminal = []rated{
	{"halt", stopsLater},
	{"init", stopsLater},
	{"kexec", stopsLater},
	{"poweroff", stopsLater},
	{"reboot", stopsLater},
	{"service", allHigh},
	{"shutdown", stopsLater},
	{"systemctl", allHigh},
	{"telinit", stopsLater},
}
