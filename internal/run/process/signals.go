package process

import (
	"os"
	"os/signal"
	"syscall"
)

// DefaultSignals has the programs that we start from now on end by the signals that we were
// started to ignore, as by nohup or by & in a script. A shell that ignores SIGINT cannot
// have it end what it runs, and a command that ignores SIGHUP outlives its terminal. We
// ourselves go on as if we ignored them.
func DefaultSignals() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s) // what we handle has its default effect in another program
		}
	}
}
