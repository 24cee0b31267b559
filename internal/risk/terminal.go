package risk

import "github.com/agent-wrapper/agent-wrapper/internal/program"

// Rows of the profile Terminal.
var (
	stopsLater = []program.Row{{Class: High, Cause: power}}
	allHigh    = []program.Row{{Class: High, Cause: services}}
)

// terminal overrides entries of the catalogue in the profile Terminal. It
// follows the lists of seed 4, where a person at the terminal may confirm a
// restart, and where every systemctl is high.
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
