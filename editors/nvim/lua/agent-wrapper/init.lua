--- agent-wrapper for Neovim: an AI agent whose tool uses are decided by your rules,
--- and by you. See :help agent-wrapper.

local state = require("agent-wrapper.state")

local M = {}

--- Changes the defaults. It need not be called.
---@param config table? see :help agent-wrapper-options
function M.setup(config)
  for key, value in pairs(config or {}) do
    if state.config[key] == nil then
      error(("agent-wrapper: unknown option %q; see :help agent-wrapper-options"):format(key), 2)
    end
    if key == "command" and type(value) == "string" then
      value = { value }
    end
    if type(value) ~= type(state.config[key]) then
      error(("agent-wrapper: option %q must be a %s"):format(key, type(state.config[key])), 2)
    end
    state.config[key] = value
  end
end

--- Returns how many questions wait.
---@return integer
function M.waiting()
  return #state.queue
end

--- Returns a few words for the statusline, "" where there is nothing to say.
---@return string
function M.statusline()
  if #state.queue > 0 then
    return ("agent: %d waiting"):format(#state.queue)
  end
  for _, chat in pairs(state.chats) do
    if chat.working then
      return "agent: working"
    end
  end
  return ""
end

--- Goes to the question that waits.
function M.answer()
  require("agent-wrapper.approval").focus()
end

return M
