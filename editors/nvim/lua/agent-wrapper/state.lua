--- What the client remembers. No other module has state of its own.

---@class agent_wrapper.Config
---@field command string[] the binary, with arguments that come before the subcommand
---@field args string[] further flags of `agent-wrapper run`, for example { "--model", "opus" }
---@field permissions table<string, string|string[]> front matter of a new chat
---@field directory string where chats are kept
---@field ui "float"|"select" how questions are answered
---@field open string command that opens the window of a chat; "auto": by the room there is
---@field max_result integer lines of a tool's result that a chat shows
---@field keymaps boolean set the buffer-local keys of a chat

---@class agent_wrapper.State
---@field config agent_wrapper.Config
---@field chats table<integer, agent_wrapper.Chat> by buffer
---@field last agent_wrapper.Chat? the chat that was used last
---@field queue agent_wrapper.Question[] questions that wait, the oldest first
---@field shown integer index of the question that the float shows
---@field float agent_wrapper.Float?
---@field files userdata? timer until files are looked at
local state = {
  config = {
    command = { "agent-wrapper" },
    args = {},
    permissions = {},
    directory = vim.fn.stdpath("data") .. "/agent-wrapper/chats",
    ui = "float",
    open = "auto",
    max_result = 200,
    keymaps = true,
  },
  chats = {},
  last = nil,
  queue = {},
  shown = 1,
  float = nil,
}

return state
