package whitelist

import "testing"

func TestErrorText(t *testing.T) {
	for _, tt := range []struct {
		err  CommandValidationError
		want string
	}{
		{CommandValidationError{Command: "rm -rf x", Reason: NotWhitelisted},
			"Command validation failed: Command not in whitelist. Add to .smartergpt/allowed-commands.json if legitimate.\nCommand: rm -rf x"},
		{CommandValidationError{Command: "rm -rf x", Reason: NotWhitelisted, List: "/p/ci/list.json"},
			"Command validation failed: Command not in whitelist. Add to /p/ci/list.json if legitimate.\nCommand: rm -rf x"},
		{CommandValidationError{Command: "npm test --x", Reason: DangerousArgs, Detail: "--x is not in allow_args"},
			"Command validation failed: Command contains dangerous arguments that are explicitly denied.\nCommand: npm test --x\n--x is not in allow_args"},
		{CommandValidationError{Command: "a | b", Reason: ShellOperators},
			"Command validation failed: Command contains shell operators (|, >, <, &&, ||) which are not allowed.\nCommand: a | b"},
		{CommandValidationError{Command: "x", Reason: TooLong}, "Command validation failed: Command exceeds maximum allowed length.\nCommand: x"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}
