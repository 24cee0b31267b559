package shell

import "github.com/agent-wrapper/agent-wrapper/internal/program"

// effector derives the effects of one command from its words.
type effector struct {
	w     *walker
	s     *scope
	words []Word
	prog  *program.Program
	scan  Scan
	frame Action // the command itself, before it is added
	index int    // index of the command in the facts
	dirs  []Word // directories that the operands are relative to

	operands  []int // indexes of the operands in words, without subcommands
	pattern   bool  // an option gave the pattern or script
	inPlace   bool
	readOnly  bool // an option prevents all writes
	named     bool // an option names the output
	parents   bool // the directories of a source are created in the target
	recursive bool
	empties   bool  // what is changed in place may be left empty (sed -i d)
	edits     bool  // what is written keeps the rest of what it had
	clears    bool  // what is at a path is removed before it is written
	follows   bool  // where it is recursive, links are followed
	target    *Word // -t DIR
	moved     bool  // an option changed dirs
	noFollow  bool  // an operand that is a link is not followed
	done      bool  // a reader of the program has handled the operands
	silent    bool  // nothing of the words is printed
	// ownAssigns reports that frame.Assigns is a copy that may be appended to.
	ownAssigns bool
}
