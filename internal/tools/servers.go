package tools

import (
	"maps"
	"slices"
	"sync"
)

// Servers returns the names of the MCP servers whose tools the table describes.
func Servers() []string { return slices.Sorted(maps.Keys(servers())) }

// Server returns the mappings of the tools of an MCP server, by their names
// without "mcp__server__", and whether it is known. They apply to no server by
// default: a repository chooses the names of its servers, so a policy must
// declare which server is such a one.
func Server(name string) (map[string]Mapping, bool) {
	m, known := servers()[name]
	return m, known
}

// servers holds the inputs of the tools of common MCP servers, according to the
// servers' own schemas. A field that runs code, or that a server passes to a
// program unchanged, is omitted on purpose, so that it is asked about.
var servers = sync.OnceValue(func() map[string]map[string]Mapping {
	return map[string]map[string]Mapping{
		// github.com/modelcontextprotocol/servers, src/filesystem
		"filesystem": {
			"read_file":                 {Read: path, Text: some("head", "tail")},
			"read_text_file":            {Read: path, Text: some("head", "tail")},
			"read_media_file":           {Read: path},
			"read_multiple_files":       {Read: some("paths[]")},
			"write_file":                {Write: path, Text: some("content")},
			"edit_file":                 {Write: path, Text: some("edits", "dryRun")},
			"create_directory":          {Write: path},
			"list_directory":            {Read: path},
			"list_directory_with_sizes": {Read: path, Text: some("sortBy")},
			"directory_tree":            {ReadTree: path, Text: some("excludePatterns")},
			"search_files":              {ReadTree: path, Text: some("pattern", "excludePatterns")},
			"get_file_info":             {Read: path},
			"list_allowed_directories":  {},
			"move_file":                 {ReadTree: some("source"), WriteTree: some("source", "destination")},
		},
		// github.com/modelcontextprotocol/servers, src/fetch
		"fetch": {
			"fetch": {URL: some("url"), Text: some("max_length", "start_index", "raw")},
		},
		// github.com/modelcontextprotocol/servers, src/git. What git_diff and
		// git_checkout pass to git could be an option that writes (CVE-2025-68144).
		"git": {
			"git_status":        {ReadTree: repository},
			"git_diff_unstaged": {ReadTree: repository, Text: some("context_lines")},
			"git_diff_staged":   {ReadTree: repository, Text: some("context_lines")},
			"git_diff":          {ReadTree: repository, Text: some("context_lines")},
			"git_log":           {ReadTree: repository, Text: some("max_count", "start_timestamp", "end_timestamp")},
			"git_show":          {ReadTree: repository, Text: some("revision")},
			"git_branch":        {ReadTree: repository, Text: some("branch_type", "contains", "not_contains")},
			"git_add":           {ReadTree: repository, Text: some("files")},
			"git_reset":         {ReadTree: repository},
			"git_commit":        {ReadTree: repository, Text: some("message")},
			"git_create_branch": {ReadTree: repository, Text: some("branch_name", "base_branch")},
			"git_checkout":      {WriteTree: repository},
			"git_init":          {Write: repository},
		},
		// github.com/g0t4/mcp-server-commands, and tools of the same names elsewhere
		"shell": {
			"run_command":       {Command: some("command"), Directory: "workdir"},
			"run_shell_command": {Command: some("command"), Directory: "directory", Text: some("description")},
			"execute_command":   {Command: some("command"), Directory: "cwd"},
			"shell_exec":        {Command: some("command"), Directory: "cwd"},
		},
		// github.com/microsoft/playwright-mcp. The functions of browser_evaluate and
		// browser_run_code are code.
		"playwright": {
			"browser_navigate":         {URL: some("url")},
			"browser_navigate_back":    {},
			"browser_snapshot":         {Write: some("filename")},
			"browser_take_screenshot":  {Write: some("filename"), Text: some("type", "element", "ref", "fullPage")},
			"browser_pdf_save":         {Write: some("filename")},
			"browser_file_upload":      {Read: some("paths[]")},
			"browser_click":            {Text: some("element", "ref", "doubleClick", "button", "modifiers")},
			"browser_hover":            {Text: some("element", "ref")},
			"browser_drag":             {Text: some("startElement", "startRef", "endElement", "endRef")},
			"browser_type":             {Text: some("element", "ref", "text", "submit", "slowly")},
			"browser_fill_form":        {Text: some("fields")},
			"browser_select_option":    {Text: some("element", "ref", "values")},
			"browser_press_key":        {Text: some("key")},
			"browser_wait_for":         {Text: some("time", "text", "textGone")},
			"browser_handle_dialog":    {Text: some("accept", "promptText")},
			"browser_resize":           {Text: some("width", "height")},
			"browser_console_messages": {Write: some("filename"), Text: some("level", "onlyErrors")},
			"browser_network_requests": {Write: some("filename"), Text: some("includeStatic")},
			"browser_close":            {},
		},
	}
})

var (
	path       = some("path")
	repository = some("repo_path")
)

func some(fields ...string) []string { return fields }
