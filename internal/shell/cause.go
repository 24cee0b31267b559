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

// IsLimit reports whether a limit, or a failure of the reader, kept text of the line from
// being read, so that it may hold any command at all.
func (c Cause) IsLimit() bool {
	switch c {
	case causeTooLong, causeNUL, causeBrackets, causeReaderFailed, causeTooMuch, causeTextRefused, causeTextDeep, causeDeep:
		return true
	}
	return false
}

// OfProject reports whether a command is unproven because of what files of the project have
// it do, which its words do not show.
func (c Cause) OfProject() bool {
	return c == CauseRepositoryRuns || c == CauseRepositoryUnread || c.AsksHost()
}

// AsksHost reports whether a command is unproven because of a host that a file of the
// project names.
func (c Cause) AsksHost() bool {
	return c == CauseAsksHost || c == CauseSendsVariable || c == CauseHostsUnread
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
	causeTooMuch

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
	causeFlood
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
	causeSecretShown
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

	// What a line leaves to the next one.
	causeStaysExported
	causeStaysAll
	causeStaysFunction
	causeStaysSecret
	causeStaysTraced

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
	causeItemSends
	causeConfigElsewhere
	CauseConfigLinked
	CauseRepositoryRuns
	CauseRepositoryUnread
	CauseAsksHost
	CauseSendsVariable
	CauseHostsUnread
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
	causeForeign:      {"the line is for a shell that agent-wrapper does not support", "write the command in a simpler form, one step at a time"},
	causeTooLong:      {"the line is longer than %s bytes", "write the command in a simpler form, one step at a time"},
	causeNUL:          {"the line contains a NUL byte", "write the command in a simpler form, one step at a time"},
	causeBrackets:     {"the line opens more than %s brackets", "write the command in a simpler form, one step at a time"},
	causeReaderFailed: {"the parser failed: %s", "write the command in a simpler form, one step at a time"},

	causeTooMuch: {"the line has too many parts to read all of them", "run it in smaller pieces"},

	CauseTextUnparsed:  {"%s: the line cannot be parsed: %s", "run the inner command itself"},
	causeTextRefused:   {"%s: %s", "run the inner command itself"},
	causeTextBackslash: {"%s of text that ends with a backslash", "remove the backslash"},
	causeTextDeep:      {"%s is nested too deep", "run the inner command itself"},
	causeDeep:          {"commands are nested too deep", "run the inner command itself"},

	CauseUnmappedField: {"the field %s of %s is unknown (a policy can define it under [tools])", "omit the field"},

	CauseForkBomb:      {"fork bomb", "do not let a function start itself in a pipe or in the background"},
	causeFlood:         {"a loop without end starts programs in the background", "end the loop, or let it wait for each program"},
	CauseStandardInput: {"%s runs a program that it reads from standard input", "write the program to a file, or name its commands"},
	causeRunsWritten:   {"the line runs a file that it also writes", "write the file first, then run it in a separate step"},
	causeManyLinks:     {"the line creates too many links", "create the links with fewer commands"},
	causeThroughLink:   {"the line uses a link that it also creates", "create the link first, then use it in a separate step"},

	causeBackslashEnd:        {"a backslash at the end of the line", "remove it"},
	causeTranslated:          {`bash translates $".." with a message catalogue, whose text it expands`, "remove the $ before the quotes"},
	causeHashInWord:          {"a # inside a word", "put a space before the #, or quote it"},
	causeCommentGoesOn:       {"a comment that ends in a backslash continues the command", "remove the backslash"},
	causeCarriageReturn:      {"a carriage return is outside single quotes", "use plain newlines"},
	causeDocumentGoesOn:      {"a line of a here-document is continued inside quotes", "write it as one line, or quote the delimiter"},
	causeWordGoesOn:          {"a line is continued inside a word or an operator", "put a space before the backslash"},
	causeDocumentEnd:         {"a line of a here-document next to its end is continued with a backslash", "remove the backslash"},
	causeDelimiter:           {"the delimiter of a here-document has several parts", "use one plain word"},
	causeElementEscaped:      {"a backslash in an array, in a substitution", "quote the element with single quotes"},
	causeDocumentAmong:       {"a here-document among several commands of a substitution", "give the substitution one command, or write the text to a file first"},
	causeDelimiterBegins:     {"a line that begins with the delimiter of its here-document, in a substitution", "choose another delimiter"},
	causeNoBlank:             {"a word follows %s- without a space", "put a space between them"},
	causeTwiceExpanded:       {"bash expands the word behind >& twice", "use > and 2>&1"},
	causeBracesInQuotes:      {"braces within nested quotes", "remove the inner quotes or the braces"},
	causeBraces:              {"braces that bash may expand differently", "quote them, or write the words out"},
	causeBracesInside:        {"a brace expansion contains further braces or quotes", "write the words out"},
	causeManyWords:           {"a brace expansion makes too many words", "write the words out"},
	causeBackquotesInside:    {"nested backquotes", "use $(..)"},
	causeBackquotesBackslash: {"a backslash before a line continuation in backquotes", "use $(..)"},
	causeBackquotesQuotes:    {"quotes within backquotes contain a backquote or a backslash", "use $(..)"},
	causeHiddenText:          {"text that the shell may read as a command", "avoid nested backquotes and process substitutions"},
	causeExtGlob:             {"an extended glob outside [[ ]]", "use a plain glob"},
	causeExtGlobCommands:     {"an extended glob may contain commands", "use a plain pattern"},
	causeBracketPattern:      {"a bracket pattern contains quotes or an expansion", "quote the bracket, or write the name out"},
	causeNoAssignment:        {"a word looks like an assignment but is not one", "quote the word"},
	causeLoopBraces:          {"a loop with braces", "use do and done"},
	causeTimeOption:          {"an option of time looks like a command", "remove the option"},
	causeTimeCompound:        {"time before a compound command", "time the commands inside"},
	causeTimeBehindPipe:      {"time after a pipe is not the keyword", "put time before the pipeline"},
	causeCoproc:              {"coproc", "run the command in the background with &"},

	causeOtherArithmetic:   {"arithmetic in the syntax of another shell", "use plain numbers"},
	causeOtherComparison:   {"an unsupported comparison", "compare numbers"},
	causeOtherPart:         {"an unsupported part of a word", "write it in a simpler form"},
	causeOtherSubstitution: {"a substitution in the syntax of another shell", "use $(..)"},
	causeOtherParameter:    {"a parameter expansion in the syntax of another shell", "use a plain expansion"},
	causeOtherBackground:   {"a background command in the syntax of another shell", "use &"},
	causeOtherCommand:      {"an unsupported kind of command", "write it in a simpler form"},
	causeSecretShown:       {"%s shows the value of a variable that may hold a secret", "test it with [ -n \"$NAME\" ]"},
	causeOtherLoop:         {"an unsupported kind of loop", "use for NAME in WORDS"},
	causeOtherFunction:     {"a function in the syntax of another shell", "use NAME() { ..; }"},

	causeUnlikeSh:     {"%s means something else in sh", "run the line with bash, or write it for sh"},
	causeShBraces:     {"brace expansion means something else in sh", "write the words out"},
	causeShArithmetic: {"$[..] means something else in sh", "use $((..))"},
	causeShQuotes:     {"$'..' means something else in sh", "use printf or plain quotes"},
	causeShProcess:    {"sh has no process substitution", "use a temporary file"},

	causeZshWord:          {"%s means something else in zsh", "remove it"},
	causeZshOperator:      {"%s means something else in zsh", "use ;;"},
	causeZshDeclaration:   {"%s means something else in zsh", "use a plain assignment"},
	causeZshInWord:        {"%s in a word means something else in zsh", "quote it"},
	causeZshOption:        {"an option of %s means something else in zsh", "remove it"},
	causeZshDigit:         {"a digit before %s means something else in zsh", "put a space between them"},
	causeZshEscape:        {"an escape in $'..' means something else in zsh", "write the character itself"},
	causeZshFunction:      {"function means something else in zsh", "use NAME() { ..; }"},
	causeZshSelect:        {"select means something else in zsh", "use for"},
	causeZshTime:          {"time -p means something else in zsh", "use time"},
	causeZshLet:           {"let means something else in zsh", "use $((..))"},
	causeZshBackground:    {"a character after & means something else in zsh", "put a space between them"},
	causeZshOnlyRedirects: {"a redirection without a command means something else in zsh", "name the command"},
	causeZshName:          {"a name with = means something else in zsh", "quote it"},
	causeZshCd:            {"cd with two words means something else in zsh", "give cd one directory"},
	causeZshRunner:        {"an option before a command means something else in zsh", "remove it"},
	causeZshArray:         {"an array or += means something else in zsh", "assign one plain value"},
	causeZshValue:         {"= at the start of a value means something else in zsh", "quote it"},
	causeZshDescriptor:    {"a descriptor of several characters means something else in zsh", "use one digit"},
	causeZshClobber:       {"! after a redirection means something else in zsh", "remove it"},
	causeZshRange:         {"a range of numbers in <..> means something else in zsh", "quote it"},
	causeZshTildePart:     {"~ before a part of a word means something else in zsh", "quote it"},
	causeZshEqualsBehind:  {"= after an expansion means something else in zsh", "quote it"},
	causeZshPattern:       {"a pattern with parentheses means something else in zsh", "use a plain pattern"},
	causeZshBrace:         {"a brace means something else in zsh", "quote it, or write the words out"},
	causeZshStars:         {"** means something else in zsh", "use find"},
	causeZshEquals:        {"= at the start of a word means something else in zsh", "quote it"},
	causeZshDollar:        {"$ before a character means something else in zsh", "quote it with a backslash"},
	causeZshBehind:        {"the text after a variable means something else in zsh", "write ${name} with braces"},
	causeZshParameter:     {"a parameter expansion with an operator means something else in zsh", "use a plain expansion"},
	causeZshEvaluates:     {"zsh evaluates an argument of %s as arithmetic", "give it a plain number"},

	causeVariable:       {"the variable %s can change what commands do", "leave the variable as it is"},
	causeCounter:        {"a shell evaluates the value of %s as arithmetic", "set it to a plain number, or use another name"},
	causeArithmetic:     {"arithmetic evaluates the value of a variable", "use numbers, or assign a number to the variable on the same line"},
	causeTestArithmetic: {"[[ %s ]] evaluates the value of a variable as arithmetic", "use [ ] for numbers"},
	causeTestIndex:      {"-v evaluates the index in the name", "test a plain name"},
	causeIndirect:       {"${!%s} expands a name that is known only when it runs", "use the variable's own name"},
	causeTransformed:    {"${%s@..} may run the value of the variable", "use the plain variable"},
	causeQuotesInside:   {"single quotes do not quote inside this expansion", "use double quotes"},
	causeProcessInside:  {"a process substitution within a quoted expansion", "use a file"},
	causeDollarsInside:  {"$$ before a bracket in an expansion, which bash reads as another expansion", "put $$ in a variable first"},
	causeRedirectName:   {"a redirection evaluates a variable name", "use a plain name"},
	causeNetwork:        {"a redirection to a network connection", "use curl"},

	causeNameUnknown:       {"the command name is known only when it runs", "write the command name out"},
	causeBuiltinUnknown:    {"the command is known only when it runs", "write the command name out"},
	causeFunctionOfCommand: {"the function %s replaces a command", "give the function a different name"},
	causeEvalUnknown:       {"eval of text that is known only when it runs", "write the command out"},
	causeSource:            {"source runs a file in this shell", "run the file with bash, as a separate process"},
	causeExecName:          {"the name given by exec -a is known only when it runs", "write it out"},
	causeDeclaredBraces:    {"a declaration expands braces", "quote the value"},
	causeLet:               {"let evaluates its arguments as arithmetic", "use $((..)) with numbers"},
	causeSetUnknown:        {"what %s sets is known only when it runs", "write the name out"},
	causeSetEvaluates:      {"option %s of %s evaluates the values of variables", "assign a plain value"},
	causeSetIndex:          {"%s evaluates the index in the name", "use a plain name"},
	causeSetName:           {"%s evaluates the name of a variable", "use a plain name"},
	causeMapfileRuns:       {"option -C of %s runs a command on what it reads", "remove it"},
	causeWait:              {"an argument of wait is known only when it runs", "wait for a plain number"},
	causePrintfFormat:      {"the format of printf is known only when it runs, and may be an option", "write the format out"},
	causeTestWords:         {"an argument of %s may become several words, -v among them", "put it in double quotes"},
	causeHash:              {"hash -p binds a command name to another program", "run the program by its path"},
	causeTrapOption:        {"an unsupported option of trap", "remove it"},
	causeTrapUnknown:       {"a trap whose text is known only when it runs", "write the command out"},
	causeAlias:             {"an alias changes the meaning of a command name", "write the command out"},
	causeEnable:            {"enable changes what command names mean", "remove it"},
	causeSetOptionUnknown:  {"an option of set is known only when it runs", "write it out"},
	causeSetOption:         {"an option of set changes what the line means", "remove it"},
	causeSetLetter:         {"set -k makes arguments variables, set -P changes what cd means", "remove it"},
	causeShoptUnknown:      {"an option of shopt is known only when it runs", "write it out"},
	causeShopt:             {"an option of shopt changes how the line is read", "remove it"},
	causeComplete:          {"%s runs commands or expands words", "remove it"},
	causeFc:                {"fc runs commands again", "write the command out"},
	causeJobs:              {"an option of jobs is known only when it runs", "write it out"},

	causeCode:             {"%s is code in another language", "write the code to a file and run the file"},
	causeRunsAnything:     {"%s can make it run anything", "remove the option"},
	causeCommandUnknown:   {"%s: the command is known only when it runs", "write the command out"},
	causeLineUnknown:      {"the command is known only when it runs", "write the command out"},
	causeMoreWords:        {"%s gets more words than the line shows", "give it a plain command"},
	causeFileUnknown:      {"%s: its instructions are known only when it runs", "name a file"},
	causeModuleUnknown:    {"the module that %s runs is unknown", "write its name out"},
	causeArgumentUnknown:  {"an argument of %s is known only when it runs", "write it out"},
	causeArgumentsUnknown: {"the number of arguments of agent-wrapper exec is known only when it runs", "write them out"},
	causeShellText:        {"text for %s -c that is known only when it runs", "write the command out"},
	causeEnvOption:        {"an argument of env is uncertain", "write it out, with valid options of env"},
	causeEnvSplits:        {"env splits a string into a command", "write the command out"},
	causeEnvName:          {"the name of a variable is known only when it runs", "write it out"},
	causeFindUnknown:      {"an argument of find is known only when it runs, and may be an action", "write it out"},
	causeSSHOption:        {"option -o of %s can run a program", "put the setting into the configuration file"},
	causeGitURL:           {"a git URL of the form ext:: runs a command", "use an ordinary URL"},
	causeGitSetting:       {"the git setting %s can run a program", "let a person change the setting"},
	causeSetting:          {"the setting %s of %s can name a program or the place to find one", "let a person change the setting"},
	causeYqLoads:          {"an expression of yq loads files", "name the files as operands"},
	causeCurlFormat:       {"option -w of curl writes a file", "use -o"},
	causeGoLinker:         {"option %s of go can name a program to run", "do not use the external linker"},
	causeOptionsFile:      {"%s reads options from a file", "write the options out"},
	causePythonOption:     {"option -X of python can import a module first", "remove the option"},
	causeTmuxFormat:       {"a tmux format runs a command", "remove #( )"},
	causeTarHost:          {"an archive on another host", "use a local file"},

	causeAwkUnknown:   {"the program of awk is known only when it runs", "write the program out"},
	causeAwkUnread:    {"an unsupported awk program", "write it to a file"},
	causeAwkPipe:      {"a pipe in the awk program runs a command", "pipe the output of awk itself"},
	causeAwkArguments: {"the awk program can name the files that it reads", "name the files as operands"},
	causeAwkAt:        {"@ in the awk program loads or calls something", "remove it"},
	causeAwkWrites:    {"the awk program writes a file whose name is known only when it runs", "redirect the output of awk itself"},
	causeAwkReads:     {"the awk program reads a file whose name is known only when it runs", "name the file as an operand"},
	causeAwkSystem:    {"system() in the awk program runs a command that is known only when it runs", "run the command itself"},
	causeSedUnknown:   {"the script of sed is known only when it runs", "write the script out"},
	causeSedSuffix:    {"the suffix of sed -i can name a file elsewhere", "use a suffix like .bak"},
	causeSedUnread:    {"an unsupported sed script", "use only s, p, d and addresses"},
	causeSedFlag:      {"the e flag of a sed substitution runs a command", "remove it"},
	causeSedExecutes:  {"the e command of the sed script runs its input", "remove it"},

	causeMakeObeys:   {"the variable %s changes what make runs", "remove it"},
	causeMakeExpands: {"make expands the variable %s", "write its value out"},
	causeMakeRuns:    {"the variable %s can make recipes run anything", "remove it"},
	causeMakeValue:   {"recipes may run the value of the variable %s", "remove shell operators from it"},
	causeProperty:    {"the property %s can make %s load code", "remove it"},

	causeStaysExported: {"the variable %s stays set for later commands, and may change what they do", "set it in front of the command that needs it"},
	causeStaysAll:      {"later commands get every variable that is set", "export the variables by name, or put the line in ( )"},
	causeStaysFunction: {"the function %s stays defined for later commands", "put the line in ( )"},
	causeStaysSecret:   {"the variable %s keeps the value of a variable that may hold a secret for later commands", "put the line in ( )"},
	causeStaysTraced:   {"the shell will print later commands with the values of their variables", "put the line in ( )"},

	CauseMayDo:        {"the command may do what the rule covers", ""},
	CauseUnclear:      {"what it does is unknown", ""},
	CauseDirectory:    {"it includes a directory that contains such a path", "name the files or directories"},
	CausePathUnknown:  {"the exact path is unknown", "name the file"},
	CauseHostUnknown:  {"the exact host is unknown", "write the URL out"},
	CauseWordUnknown:  {"a word of the command is known only when it runs", "write the words out"},
	CauseTemporary:    {"it writes a temporary file that this session did not create", "write to $TMPDIR"},
	CauseSubstitution: {"contains command substitution", "run the command in $(..) or <(..) separately first, and write out what it prints"},

	causeObeysVariable:     {"the variable %s may change what the program does", ""},
	causeMayBeOption:       {"an argument of %s is known only when it runs, and may be an option", "write the names out: list them with a separate command first"},
	causeMayBeListed:       {"the argument %s is known only when it runs, and may be an option", "write the names out: list them with a separate command first"},
	causeVeryWords:         {"%s of %s needs a rule that contains it", ""},
	causeSends:             {"option %s of %s sends a file to a host", ""},
	causeMaySend:           {"option %s of %s may send a file to a host", ""},
	causeItemSends:         {"%s of %s may send a file to a host", ""},
	causeConfigElsewhere:   {"%s reads its configuration from a directory outside the workspace, or an unknown one", "name the directory"},
	CauseConfigLinked:      {"%s reads its configuration from a directory outside the workspace, through a link", ""},
	CauseRepositoryRuns:    {"%s runs what %s names in the repository's own configuration", ""},
	CauseRepositoryUnread:  {"the repository's own configuration cannot be read, and may name a program for %s", ""},
	CauseAsksHost:          {"%s would ask %s", ""},
	CauseSendsVariable:     {"%s would send %s", ""},
	CauseHostsUnread:       {"%s may ask any host: %s cannot be read", ""},
	causeFindNames:         {"-files0-from of find reads names from a file", ""},
	causeMakeName:          {"the argument %s of make may set any variable that begins with %s", ""},
	causeMakeQuoted:        {"recipes that put the variable %s in single quotes would run part of its value", ""},
	causeMakeUnknown:       {"the value of the variable %s is known only when it runs, and recipes may run it", "write the value out"},
	causeGoWrites:          {"option %s of go may name a file that is written", ""},
	causeCmakeProject:      {"cmake runs a project outside the workspace, or an unknown one", ""},
	causeGoalFetched:       {"the goal %s fetches a plugin", ""},
	causeHistoryFile:       {"an option of history changes the history file", ""},
	causeRemoteSource:      {"%s names a source on another machine", ""},
	causeFetchesProgram:    {"%s runs code that it fetches", ""},
	causeNpmEditor:         {"npm config edit opens an editor", ""},
	causeMoreThanUsual:     {"%s does more than usual here", ""},
	causeCurlFormatUnknown: {"option -w of curl is known only when it runs", "write the format out"},
	causeTarUnclear:        {"the options of tar leave unclear what it does", ""},
	causeJqUnknown:         {"the filter of jq is known only when it runs", ""},
	causeJqReads:           {"the filter of jq reads more than its input", ""},
}
