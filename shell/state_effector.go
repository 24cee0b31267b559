package shell

import "github.com/agent-wrapper/agent-wrapper/program"

// effector derives what one command does from its words.
type effector struct {
	w     *walker
	s     *scope
	words []Word
	prog  *program.Program
	scan  Scan
	frame Action // the command itself, before it is added
	index int    // its index in the facts
	dirs  []Word // the directories that its operands are relative to

	operands  []int // indexes of the words that are operands, without subcommands
	pattern   bool  // an option gave the pattern or script
	inPlace   bool
	readOnly  bool // an option says that nothing is written
	named     bool // an option names the output
	parents   bool // the directories of a source are made in the target
	recursive bool
	target    *Word // -t DIR
	moved     bool  // an option moved dirs
	noFollow  bool  // a link that an operand is stays as it is, or goes
	done      bool  // a special reader has dealt with the operands
	// ownAssigns: frame.Assigns may be appended to.
	ownAssigns bool
}
