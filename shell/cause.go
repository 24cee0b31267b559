package shell

import "strings"

// Cause is why a spot of a line is opaque, why a command is unproven, or why a line
// could not be read. Decisions depend on the cause; its words are for people only.
type Cause uint8

// Why is a cause with the names that it is about, such as the option in "option -c of
// git can make it run anything". The zero value is no cause.
type Why struct {
	Cause Cause
	Name  string // what the cause is about, "" if its words name nothing
	Of    string // a second name
}

// because returns a cause with its names.
func because(c Cause, names ...string) Why {
	why := Why{Cause: c}
	if len(names) > 0 {
		why.Name = names[0]
	}
	if len(names) > 1 {
		why.Of = names[1]
	}
	return why
}

// String returns the cause in words.
func (w Why) String() string {
	before, rest, found := strings.Cut(w.Cause.row().words, gap)
	if !found {
		return before
	}
	between, behind, found := strings.Cut(rest, gap)
	if !found {
		return before + w.Name + between
	}
	return before + w.Name + between + w.Of + behind
}

// Rewrite returns advice for a clear form, "" if there is none.
func (w Why) Rewrite() string { return w.Cause.row().rewrite }

// Advice returns the words of Rewrite if the clear form shows at least as much of
// what happens, so that the agent may be told of it in place of a question; else "".
// Of two forms the one that hides more is never advised: code that is put into a
// file, a setting that goes into a configuration file.
func (w Why) Advice() string {
	if w.Cause.advised() {
		return w.Rewrite()
	}
	return ""
}

// advised reports whether the clear form of a cause says the same, and shows more.
func (c Cause) advised() bool {
	switch {
	case c >= causeBackslashEnd && c <= causeZshEvaluates:
		return c != causeShProcess // a file instead is written first
	case c >= CauseDirectory && c <= CauseSubstitution:
		return true
	}
	switch c {
	case causeTextBackslash, causeTestArithmetic, causeTestIndex, causeIndirect, causeTransformed,
		causeQuotesInside, causeRedirectName, causePrintfFormat, causeTestWords, causeWait,
		causeMayBeOption, causeMayBeListed, causeConfigElsewhere, causeMakeUnknown, causeCurlFormatUnknown:
		return true
	}
	return false
}

// String returns the words without the names, "" for a number that is not a cause.
func (c Cause) String() string { return strings.ReplaceAll(c.row().words, gap, "…") }

// gap is the place of a name in the words of a cause.
const gap = "%s"

func (c Cause) row() *causeRow {
	if c >= noCause {
		c = 0
	}
	return &causes[c]
}

// The causes. Those used by other packages are exported.
const (
	// A line that could not be read at all.
	CauseUnparsed Cause = iota + 1
	causeForeign
	causeTooLong
	causeNUL
	causeBrackets
	causeReaderFailed

	// Text that a command of the line runs.
	CauseTextUnparsed
	causeTextRefused
	causeTextBackslash
	causeTextDeep
	causeDeep

	// A field of a tool's input that is not built in.
	CauseUnmappedField

	// The line as a whole.
	CauseForkBomb
	CauseStandardInput
	causeRunsWritten
	causeManyLinks
	causeThroughLink

	// What the parser reads differently from bash.
	causeBackslashEnd
	causeTranslated
	causeHashInWord
	causeCommentGoesOn
	causeCarriageReturn
	causeDocumentGoesOn
	causeWordGoesOn
	causeDocumentEnd
	causeDelimiter
	causeDocumentAmong
	causeElementEscaped
	causeDelimiterBegins
	causeNoBlank
	causeTwiceExpanded
	causeBracesInQuotes
	causeBraces
	causeBracesInside
	causeManyWords
	causeBackquotesInside
	causeBackquotesBackslash
	causeBackquotesQuotes
	causeHiddenText
	causeExtGlob
	causeExtGlobCommands
	causeBracketPattern
	causeNoAssignment
	causeLoopBraces
	causeTimeOption
	causeTimeCompound
	causeTimeBehindPipe
	causeCoproc

	// Syntax trees that exist only for other shells.
	causeOtherArithmetic
	causeOtherComparison
	causeOtherPart
	causeOtherSubstitution
	causeOtherParameter
	causeOtherBackground
	causeOtherCommand
	causeOtherLoop
	causeOtherFunction

	// What sh reads differently.
	causeUnlikeSh
	causeShBraces
	causeShArithmetic
	causeShQuotes
	causeShProcess

	// What zsh reads differently.
	causeZshWord
	causeZshOperator
	causeZshDeclaration
	causeZshInWord
	causeZshOption
	causeZshDigit
	causeZshEscape
	causeZshFunction
	causeZshSelect
	causeZshTime
	causeZshLet
	causeZshBackground
	causeZshOnlyRedirects
	causeZshName
	causeZshCd
	causeZshRunner
	causeZshArray
	causeZshValue
	causeZshDescriptor
	causeZshClobber
	causeZshRange
	causeZshTildePart
	causeZshEqualsBehind
	causeZshPattern
	causeZshBrace
	causeZshStars
	causeZshEquals
	causeZshDollar
	causeZshBehind
	causeZshParameter
	causeZshEvaluates

	// Variables, arithmetic and expansions that run what a value holds.
	causeVariable
	causeCounter
	causeArithmetic
	causeTestArithmetic
	causeTestIndex
	causeIndirect
	causeTransformed
	causeQuotesInside
	causeProcessInside
	causeDollarsInside
	causeRedirectName
	causeNetwork

	// Names and builtins of the shell.
	causeNameUnknown
	causeBuiltinUnknown
	causeFunctionOfCommand
	causeEvalUnknown
	causeSource
	causeExecName
	causeDeclaredBraces
	causeLet
	causeSetUnknown
	causeSetEvaluates
	causeSetIndex
	causeSetName
	causeMapfileRuns
	causeWait
	causePrintfFormat
	causeTestWords
	causeHash
	causeTrapOption
	causeTrapUnknown
	causeAlias
	causeEnable
	causeSetOptionUnknown
	causeSetOption
	causeSetLetter
	causeShoptUnknown
	causeShopt
	causeComplete
	causeFc
	causeJobs

	// What a program runs, reads or writes that its words do not show.
	causeCode
	causeRunsAnything
	causeCommandUnknown
	causeLineUnknown
	causeMoreWords
	causeFileUnknown
	causeModuleUnknown
	causeArgumentUnknown
	causeArgumentsUnknown
	causeShellText
	causeEnvOption
	causeEnvSplits
	causeEnvName
	causeFindUnknown
	causeSSHOption
	causeGitURL
	causeGitSetting
	causeSetting
	causeYqLoads
	causeCurlFormat
	causeGoLinker
	causeOptionsFile
	causePythonOption
	causeTmuxFormat
	causeTarHost

	// Scripts of awk and sed.
	causeAwkUnknown
	causeAwkUnread
	causeAwkPipe
	causeAwkArguments
	causeAwkAt
	causeAwkWrites
	causeAwkReads
	causeAwkSystem
	causeSedUnknown
	causeSedSuffix
	causeSedUnread
	causeSedFlag
	causeSedExecutes

	// Variables of make, properties of mvn.
	causeMakeObeys
	causeMakeExpands
	causeMakeRuns
	causeMakeValue
	causeProperty

	// Why a rule only possibly matches, or the risk is raised.
	CauseMayDo
	CauseUnclear
	CauseDirectory
	CausePathUnknown
	CauseHostUnknown
	CauseWordUnknown
	CauseTemporary
	CauseSubstitution

	// Why a Command is unproven. Only a few of them have a clear form.
	causeObeysVariable
	causeMayBeOption
	causeMayBeListed
	causeVeryWords
	causeSends
	causeMaySend
	causeConfigElsewhere
	CauseConfigLinked
	CauseRepositoryRuns
	CauseRepositoryUnread
	causeFindNames
	causeMakeName
	causeMakeQuoted
	causeMakeUnknown
	causeGoWrites
	causeCmakeProject
	causeGoalFetched
	causeHistoryFile
	causeRemoteSource
	causeFetchesProgram
	causeNpmEditor
	causeMoreThanUsual
	causeCurlFormatUnknown
	causeTarUnclear
	causeJqUnknown
	causeJqReads

	noCause // one more than the last
)

// causeRow is the text of a cause.
type causeRow struct{ words, rewrite string }

// causes holds the words of each cause, and advice for a clear form.
var causes = [noCause]causeRow{
	CauseUnparsed:     {"the line cannot be parsed: %s", "write the command in a simpler form, one step at a time"},
	causeForeign:      {"the line is for a shell that is not read here", "write the command in a simpler form, one step at a time"},
	causeTooLong:      {"the line is longer than %s bytes", "write the command in a simpler form, one step at a time"},
	causeNUL:          {"the line holds a NUL byte", "write the command in a simpler form, one step at a time"},
	causeBrackets:     {"the line opens more than %s brackets", "write the command in a simpler form, one step at a time"},
	causeReaderFailed: {"the reader failed: %s", "write the command in a simpler form, one step at a time"},

	CauseTextUnparsed:  {"%s: the line cannot be parsed: %s", "run the inner command itself"},
	causeTextRefused:   {"%s: %s", "run the inner command itself"},
	causeTextBackslash: {"%s of text that ends in a backslash", "leave the backslash out"},
	causeTextDeep:      {"%s is nested too deep", "run the inner command itself"},
	causeDeep:          {"commands are nested too deep", "run the inner command itself"},

	CauseUnmappedField: {"what the field %s of %s means is not known (a policy can say it, under [tools])", "leave the field out"},

	CauseForkBomb:      {"fork bomb", "do not let a function start itself in a pipe or in the background"},
	CauseStandardInput: {"%s runs a program that it reads from standard input", "put the program into a file, or name its commands"},
	causeRunsWritten:   {"the line runs a file that it writes", "write the file first, and run it in a step of its own"},
	causeManyLinks:     {"the line makes too many links", "make the links with fewer commands"},
	causeThroughLink:   {"the line goes through a link that it makes", "make the link first, and use it in a step of its own"},

	causeBackslashEnd:        {"a backslash at the end of the line", "leave it out"},
	causeTranslated:          {`bash expands what a catalogue of translations gives for $".."`, "leave out the $ before the quotes"},
	causeHashInWord:          {"a # that is not at the start of a word", "put a blank before the #, or quote it"},
	causeCommentGoesOn:       {"a comment that ends in a backslash continues the command", "remove the backslash"},
	causeCarriageReturn:      {"a carriage return stands outside single quotes", "use plain newlines"},
	causeDocumentGoesOn:      {"a line of a here-document that goes on inside quotes", "write it as one line, or quote the delimiter"},
	causeWordGoesOn:          {"a line that goes on inside a word or an operator", "put a blank before the backslash"},
	causeDocumentEnd:         {"a line of a here-document that goes on behind a backslash, beside its end", "leave the backslash out"},
	causeDelimiter:           {"the delimiter of a here-document in several parts", "use one plain word"},
	causeElementEscaped:      {"a backslash in an array, in a substitution", "quote the element with single quotes"},
	causeDocumentAmong:       {"a here-document among several commands of a substitution", "give the substitution one command, or write the text to a file first"},
	causeDelimiterBegins:     {"a line that begins with the delimiter of its here-document, in a substitution", "choose another delimiter"},
	causeNoBlank:             {"a word stands without a blank behind %s-", "put a blank between them"},
	causeTwiceExpanded:       {"bash expands the word behind >& twice", "use > and 2>&1"},
	causeBracesInQuotes:      {"braces in quotes in quotes", "leave out the inner quotes or the braces"},
	causeBraces:              {"braces that bash may expand in another way", "quote them, or write the words out"},
	causeBracesInside:        {"a brace expansion holds further braces or quotes", "write the words out"},
	causeManyWords:           {"a brace expansion makes too many words", "write the words out"},
	causeBackquotesInside:    {"backquotes in backquotes", "use $(..)"},
	causeBackquotesBackslash: {"a backslash before a line that goes on, in backquotes", "use $(..)"},
	causeBackquotesQuotes:    {"quotes in backquotes that hold a backquote or a backslash", "use $(..)"},
	causeHiddenText:          {"text that the shell may read as a command", "leave out nested backquotes and process substitutions"},
	causeExtGlob:             {"an extended glob outside [[ ]]", "use a plain glob"},
	causeExtGlobCommands:     {"an extended glob may hold commands", "use a plain pattern"},
	causeBracketPattern:      {"a bracket pattern that holds quotes or an expansion", "quote the bracket, or write the name out"},
	causeNoAssignment:        {"a word that looks like an assignment and is none", "quote the word"},
	causeLoopBraces:          {"a loop with braces", "use do and done"},
	causeTimeOption:          {"time takes an option that the parser takes for a command", "leave the option out"},
	causeTimeCompound:        {"time before a compound command", "time the commands inside"},
	causeTimeBehindPipe:      {"time behind a pipe is not the keyword", "put time before the pipeline"},
	causeCoproc:              {"coproc", "run the command in the background with &"},

	causeOtherArithmetic:   {"arithmetic of another shell", "use plain numbers"},
	causeOtherComparison:   {"a comparison that is not known here", "compare numbers"},
	causeOtherPart:         {"a part of a word that is not known here", "write it in a simpler form"},
	causeOtherSubstitution: {"a substitution of another shell", "use $(..)"},
	causeOtherParameter:    {"a parameter expansion of another shell", "use a plain expansion"},
	causeOtherBackground:   {"a background command of another shell", "use &"},
	causeOtherCommand:      {"a command of a kind that is not known here", "write it in a simpler form"},
	causeOtherLoop:         {"a loop of a kind that is not known here", "use for NAME in WORDS"},
	causeOtherFunction:     {"a function of another shell", "use NAME() { ..; }"},

	causeUnlikeSh:     {"%s means something else in sh", "run the line with bash, or write it for sh"},
	causeShBraces:     {"brace expansion means something else in sh", "write the words out"},
	causeShArithmetic: {"$[..] means something else in sh", "use $((..))"},
	causeShQuotes:     {"$'..' means something else in sh", "use printf or plain quotes"},
	causeShProcess:    {"process substitution is not known to sh", "use a temporary file"},

	causeZshWord:          {"%s means something else in zsh", "leave it out"},
	causeZshOperator:      {"%s means something else in zsh", "use ;;"},
	causeZshDeclaration:   {"%s means something else in zsh", "use a plain assignment"},
	causeZshInWord:        {"%s in a word means something else in zsh", "quote it"},
	causeZshOption:        {"an option of %s means something else in zsh", "leave it out"},
	causeZshDigit:         {"a digit before %s means something else in zsh", "put a blank between them"},
	causeZshEscape:        {"an escape in $'..' means something else in zsh", "write the character itself"},
	causeZshFunction:      {"function means something else in zsh", "use NAME() { ..; }"},
	causeZshSelect:        {"select means something else in zsh", "use for"},
	causeZshTime:          {"time -p means something else in zsh", "use time"},
	causeZshLet:           {"let means something else in zsh", "use $((..))"},
	causeZshBackground:    {"a character behind & means something else in zsh", "put a blank between them"},
	causeZshOnlyRedirects: {"a redirection without a command means something else in zsh", "name the command"},
	causeZshName:          {"a name with = means something else in zsh", "quote it"},
	causeZshCd:            {"cd with two words means something else in zsh", "give cd one directory"},
	causeZshRunner:        {"an option before a command means something else in zsh", "leave it out"},
	causeZshArray:         {"an array or += means something else in zsh", "assign one plain value"},
	causeZshValue:         {"= at the start of a value means something else in zsh", "quote it"},
	causeZshDescriptor:    {"a descriptor of several characters means something else in zsh", "use one digit"},
	causeZshClobber:       {"! behind a redirection means something else in zsh", "leave it out"},
	causeZshRange:         {"a range of numbers in <..> means something else in zsh", "quote it"},
	causeZshTildePart:     {"~ before a part of a word means something else in zsh", "quote it"},
	causeZshEqualsBehind:  {"= behind an expansion means something else in zsh", "quote it"},
	causeZshPattern:       {"a pattern with parentheses means something else in zsh", "use a plain pattern"},
	causeZshBrace:         {"a brace means something else in zsh", "quote it, or write the words out"},
	causeZshStars:         {"** means something else in zsh", "use find"},
	causeZshEquals:        {"= at the start of a word means something else in zsh", "quote it"},
	causeZshDollar:        {"$ before a character means something else in zsh", "quote it with a backslash"},
	causeZshBehind:        {"what stands behind a variable means something else in zsh", "write ${name} with braces"},
	causeZshParameter:     {"a parameter expansion with an operator means something else in zsh", "use a plain expansion"},
	causeZshEvaluates:     {"zsh evaluates an argument of %s as arithmetic", "give it a plain number"},

	causeVariable:       {"the variable %s can change what commands do", "leave the variable as it is"},
	causeCounter:        {"a shell evaluates what %s is set to as arithmetic", "set it to a plain number, or use another name"},
	causeArithmetic:     {"arithmetic evaluates what a variable holds", "use numbers, or assign a number to the variable in the same line"},
	causeTestArithmetic: {"[[ %s ]] evaluates what a variable holds as arithmetic", "use [ ] for numbers"},
	causeTestIndex:      {"-v evaluates an index in the name", "test a plain name"},
	causeIndirect:       {"${!%s} expands a name that is known only when it runs", "use the variable's own name"},
	causeTransformed:    {"${%s@..} may run what the variable holds", "use the plain variable"},
	causeQuotesInside:   {"single quotes do not quote inside this expansion", "use double quotes"},
	causeProcessInside:  {"a process substitution in an expansion in quotes", "use a file"},
	causeDollarsInside:  {"$$ before a bracket in an expansion, where bash looks for the end of another one", "put $$ in a variable first"},
	causeRedirectName:   {"a redirection evaluates the name of a variable", "use a plain name"},
	causeNetwork:        {"a redirection to a network connection", "use curl"},

	causeNameUnknown:       {"the command name is known only when it runs", "write the command name out"},
	causeBuiltinUnknown:    {"the command is known only when it runs", "write the command name out"},
	causeFunctionOfCommand: {"the function %s takes the place of a command", "give the function a name of its own"},
	causeEvalUnknown:       {"eval of text that is known only when it runs", "write the command out"},
	causeSource:            {"source runs a file in this shell", "run the file with bash, in a process of its own"},
	causeExecName:          {"the name that exec -a gives is known only when it runs", "write it out"},
	causeDeclaredBraces:    {"a declaration expands braces", "quote the value"},
	causeLet:               {"let evaluates its arguments as arithmetic", "use $((..)) with numbers"},
	causeSetUnknown:        {"what %s sets is known only when it runs", "write the name out"},
	causeSetEvaluates:      {"option %s of %s evaluates what variables hold", "assign a plain value"},
	causeSetIndex:          {"%s evaluates an index in the name", "use a plain name"},
	causeSetName:           {"%s evaluates the name of a variable", "use a plain name"},
	causeMapfileRuns:       {"option -C of %s runs a command with what it reads", "leave it out"},
	causeWait:              {"an argument of wait is known only when it runs", "wait for a plain number"},
	causePrintfFormat:      {"the format of printf is known only when it runs, and may be an option", "write the format out"},
	causeTestWords:         {"an argument of %s may become several words, -v among them", "put it in double quotes"},
	causeHash:              {"hash -p gives a command name to another program", "run the program by its path"},
	causeTrapOption:        {"an option of trap that is not known here", "leave it out"},
	causeTrapUnknown:       {"a trap whose text is known only when it runs", "write the command out"},
	causeAlias:             {"an alias gives a command name another meaning", "write the command out"},
	causeEnable:            {"enable changes what command names mean", "leave it out"},
	causeSetOptionUnknown:  {"an option of set is known only when it runs", "write it out"},
	causeSetOption:         {"an option of set changes what the line means", "leave it out"},
	causeSetLetter:         {"set -k makes arguments variables, set -P changes what cd means", "leave it out"},
	causeShoptUnknown:      {"an option of shopt is known only when it runs", "write it out"},
	causeShopt:             {"an option of shopt changes how the line is read", "leave it out"},
	causeComplete:          {"%s runs commands or expands words", "leave it out"},
	causeFc:                {"fc runs commands again", "write the command out"},
	causeJobs:              {"an option of jobs is known only when it runs", "write it out"},

	causeCode:             {"%s is code in another language", "put the code into a file and run the file"},
	causeRunsAnything:     {"%s can make it run anything", "leave the option out"},
	causeCommandUnknown:   {"%s: the command is known only when it runs", "write the command out"},
	causeLineUnknown:      {"the command is known only when it runs", "write the command out"},
	causeMoreWords:        {"%s gets more words than stand there", "give a plain command"},
	causeFileUnknown:      {"%s: what is obeyed is known only when it runs", "name a file"},
	causeModuleUnknown:    {"the module that %s runs is not known", "write its name out"},
	causeArgumentUnknown:  {"an argument of %s is known only when it runs", "write it out"},
	causeArgumentsUnknown: {"how many arguments agent-wrapper exec gets is known only when it runs", "write them out"},
	causeShellText:        {"text for %s -c that is known only when it runs", "write the command out"},
	causeEnvOption:        {"an argument of env is not known for certain", "write it out, with options that env has"},
	causeEnvSplits:        {"env splits a string into a command", "write the command out"},
	causeEnvName:          {"the name of a variable is known only when it runs", "write it out"},
	causeFindUnknown:      {"an argument of find is known only when it runs, and may be an action", "write it out"},
	causeSSHOption:        {"option -o of %s can run a program", "put the setting into the configuration file"},
	causeGitURL:           {"a git URL of the form ext:: runs a command", "use an ordinary URL"},
	causeGitSetting:       {"the git setting %s can run a program", "leave the setting to a person"},
	causeSetting:          {"the setting %s of %s can name a program, or where one is found", "leave the setting to a person"},
	causeYqLoads:          {"an expression of yq loads files", "name the files as operands"},
	causeCurlFormat:       {"option -w of curl writes a file", "use -o"},
	causeGoLinker:         {"option %s of go can name a program that is run", "leave the external linker out"},
	causeOptionsFile:      {"a file of options for %s", "write the options out"},
	causePythonOption:     {"option -X of python can import a module first", "leave the option out"},
	causeTmuxFormat:       {"a format of tmux runs a command", "leave #( ) out"},
	causeTarHost:          {"an archive on another host", "use a local file"},

	causeAwkUnknown:   {"the program of awk is known only when it runs", "write the program out"},
	causeAwkUnread:    {"an awk program that is not read here", "put it into a file"},
	causeAwkPipe:      {"a pipe in the awk program runs a command", "pipe the output of awk itself"},
	causeAwkArguments: {"the awk program can name the files that it reads", "name the files as operands"},
	causeAwkAt:        {"@ in the awk program loads or calls something", "leave it out"},
	causeAwkWrites:    {"the awk program writes a file whose name is known only when it runs", "redirect the output of awk itself"},
	causeAwkReads:     {"the awk program reads a file whose name is known only when it runs", "name the file as an operand"},
	causeAwkSystem:    {"system of the awk program runs a command that is known only when it runs", "run the command itself"},
	causeSedUnknown:   {"the script of sed is known only when it runs", "write the script out"},
	causeSedSuffix:    {"the suffix of sed -i can name a file elsewhere", "use a suffix like .bak"},
	causeSedUnread:    {"a sed script that is not read here", "use only s, p, d and addresses"},
	causeSedFlag:      {"flag e of a sed substitution runs a command", "leave it out"},
	causeSedExecutes:  {"command e of the sed script runs its input", "leave it out"},

	causeMakeObeys:   {"the variable %s changes what make runs", "leave it out"},
	causeMakeExpands: {"make expands the variable %s", "write its value out"},
	causeMakeRuns:    {"the variable %s can make recipes run anything", "leave it out"},
	causeMakeValue:   {"recipes may run the value of the variable %s", "leave shell operators out of it"},
	causeProperty:    {"the property %s can make %s load code", "leave it out"},

	CauseMayDo:        {"the command may do what the rule is about", ""},
	CauseUnclear:      {"what it does is not known", ""},
	CauseDirectory:    {"it goes through a directory that holds such a path", "name the files or directories that are meant"},
	CausePathUnknown:  {"the path is not known for certain", "name the file"},
	CauseHostUnknown:  {"the host is not known for certain", "write the URL out"},
	CauseWordUnknown:  {"a word of the command is known only when it runs", "write the words out"},
	CauseTemporary:    {"it writes a temporary file that this session has not made", "write to $TMPDIR"},
	CauseSubstitution: {"contains command substitution", "put $(..) or <(..) in a command of its own, and write out what it prints"},

	causeObeysVariable:     {"the program may obey the variable %s", ""},
	causeMayBeOption:       {"an argument of %s is known only when it runs, and may be an option", "write the names out: run what lists them in a command of its own first"},
	causeMayBeListed:       {"the argument %s is known only when it runs, and may be an option", "write the names out: run what lists them in a command of its own first"},
	causeVeryWords:         {"option %s of %s needs a rule for these very words", ""},
	causeSends:             {"option %s of %s sends a file to a host", ""},
	causeMaySend:           {"option %s of %s may send a file to a host", ""},
	causeConfigElsewhere:   {"%s takes its configuration from a directory outside the workspace, or an unknown one", "name the directory"},
	CauseConfigLinked:      {"%s takes its configuration from a directory that a link leads to, outside the workspace", ""},
	CauseRepositoryRuns:    {"%s runs what %s names in the repository's own configuration", ""},
	CauseRepositoryUnread:  {"the repository's own configuration cannot be read, and may name a program for %s", ""},
	causeFindNames:         {"-files0-from of find reads names from a file", ""},
	causeMakeName:          {"the argument %s of make may set any variable that begins with %s", ""},
	causeMakeQuoted:        {"recipes that put the variable %s in single quotes would run part of its value", ""},
	causeMakeUnknown:       {"the value of the variable %s is known only when it runs, and recipes may run it", "write the value out"},
	causeGoWrites:          {"option %s of go may name a file that is written", ""},
	causeCmakeProject:      {"cmake obeys a project outside the workspace, or an unknown one", ""},
	causeGoalFetched:       {"the goal %s is a plugin that is fetched", ""},
	causeHistoryFile:       {"an option of history changes the history file", ""},
	causeRemoteSource:      {"%s names a source on another machine", ""},
	causeFetchesProgram:    {"%s fetches what it runs", ""},
	causeNpmEditor:         {"npm config edit opens an editor", ""},
	causeMoreThanUsual:     {"%s does more than its everyday work here", ""},
	causeCurlFormatUnknown: {"option -w of curl is known only when it runs", "write the format out"},
	causeTarUnclear:        {"what tar does is not clear from its options", ""},
	causeJqUnknown:         {"the filter of jq is known only when it runs", ""},
	causeJqReads:           {"the filter of jq reads more than its input", ""},
}
